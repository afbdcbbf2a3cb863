// All texts of the page, in English and German. Elements with `data-text`, `data-label`, `data-hint` or `data-title` get theirs.

const ENGLISH = {
  // the head
  connecting: "connecting", running: "running", notReady: "not ready", awayEnds: "away: {names}", asideActors: "degraded: {names} set aside",
  leads: "leads since {since} (epoch {epoch})", leadsAlone: "leads alone since {since} (epoch {epoch})",
  follows: "stands by since {since} (epoch {epoch})",
  followsBehind: "stands by, lacks {lag} commits for {seconds} s (epoch {epoch})",
  noConnection: "no connection", noConnectionSince: "no connection since {time}",
  signIn: "Sign in", signInToWrite: "Sign in to write", signInToAct: "Sign in to act", token: "Token", program: "Program",
  signInTitle: "tidelog: sign in",
  time: "time", facts: "facts", late: "late", waiting: "waiting", language: "Deutsch", languageLabel: "Auf Deutsch anzeigen",
  views: "Views", viewAlarms: "Alarms", viewHistory: "History", viewFigures: "Figures", viewRun: "Run",
  // what runs
  holdingNow: "Holding now", pages: "Pages", laterOnes: "Those that began later", earlierOnes: "Those that began earlier",
  nothingHolds: "Nothing holds now.", mayFollow: "What may follow", nothingSpeaks: "Nothing speaks for an answer now.",
  history: "History", zoom: "Zoom", zoomIn: "Zoom in", zoomInKey: "Zoom in: +", zoomOut: "Zoom out", zoomOutKey: "Zoom out: −",
  all: "all", allKey: "All: 0", now: "now", nowKey: "Follow the present: N",
  timelineLabel: "Timeline. Arrow keys move, plus and minus zoom, 0 shows all, N follows the present.",
  noAnswer: "No answer so far.", sources: "Sources", noSource: "No source has come.", letters: "Dead letters",
  actors: "Actors", actor: "actor", process: "process", heldRows: "rows", atWork: "at work", restarts: "restarts", knowsUpTo: "complete up to",
  waitsFor: "waits for", setAside: "set aside: {why}",
  noLetters: "Every record could be used.", violations: "Violated constraints", rules: "Rules", fit: "fit",
  rulesLabel: "Steps of the rules, from the sources to the answers", handIn: "Hand in a fact",
  factLabel: "JSON, one fact a line", send: "Send", asPicture: "As a picture", close: "Close",
  why: "why", whyOf: "Why {what}", since: "since {time}", left: "{time} left", noDeadline: "no deadline", andMore: "and {count} more",
  where: "where {text}", atTime: "at {time}", evidence: "evidence", evidenceOf: "{has} of {all}", ago: "{time} ago",
  behind: "{time} behind", silent: "has said nothing", idle: "idle", ended: "ended", taken: "{count} taken",
  oneLane: "1 lane", lanes: "{count} lanes", lanesDropped: ", {count} older ones dropped", laneFrom: "from {begin} {end}",
  laneOn: "on", laneTo: "to {time}", lanesLabel: "{count} lanes: {names}", oneRow: "1 row", rows: "{count} rows", told: "{count} told",
  // the desk
  search: "Search", searchHint: "Search alarms (/)", states: "States", priorities: "Priorities", groupBy: "Group by", sortBy: "Sort by",
  groupCause: "cause", groupPlace: "place", groupRule: "rule", groupNone: "nothing",
  sortUrgency: "urgency", sortPriority: "priority", sortState: "state", sortNewest: "newest", sortOldest: "oldest",
  critical: "critical", high: "high", medium: "medium", low: "low",
  unacknowledged: "unacknowledged", acknowledged: "acknowledged", returned_unacknowledged: "returned, unacknowledged",
  shelved: "shelved", suppressed: "suppressed", out_of_service: "out of service", normal: "normal",
  openAlarms: "Open alarms", noAlarms: "No alarm is open.", noMatch: "No alarm matches.", showAll: "Show all", selectAll: "Select all",
  select: "Select {text}", selected: "{count} selected", clear: "Clear", more: "More", moreOf: "More on {text}",
  groupCount: "{open} of {count} unacknowledged", foldedIn: "{count} folded into this", unfold: "Unfold {count} of {text}", fold: "Fold {count} of {text}", foldedInto: "Folded into",
  acknowledge: "Acknowledge", comment: "Comment", shelve: "Shelve", unshelve: "Unshelve", remove: "Out of service", restore: "Restore",
  acknowledgeShort: "Ack", acknowledgeOf: "Acknowledge {text}",
  doneacknowledge: "acknowledged", donecomment: "commented", doneshelve: "shelved", doneunshelve: "unshelved",
  doneremove: "taken out of service", donerestore: "restored",
  beganEntry: "began", endedEntry: "ended", correctedEntry: "never was: a fact was taken back",
  by: "by {who}", byAt: "{who}, {time}", until: "until {time}", begins: "Began", ends: "Ended", state: "State", priority: "Priority",
  rule: "Rule", acknowledgedBy: "Acknowledged", shelvedBy: "Shelved", removedBy: "Out of service", comments: "Comments",
  suppressedByDesign: "Suppressed by design", yes: "yes", gone: "This alarm is not open any more.", alarmTitle: "Alarm",
  whatHappened: "What happened", reason: "Why", showReason: "Why does it hold?", noReason: "This run does not explain.",
  loading: "…", moreEntries: "Earlier ones", noEntries: "Nothing has happened.", noFigures: "There are no figures.",
  values: "Values behind it", valuesLabel: "{name}: {count} values from {least} to {most}, the last {last}",
  valuesLeftOut: "{count} earlier values are not shown.", seriesLeftOut: "{count} further series are not shown.", beginMark: "began",
  yourName: "Your name", whoWhy: "It stands beside what you do. It is kept in this browser.", actAs: "Acting as {who}", changeName: "Change your name",
  noName: "Who acts?", commentOptional: "Comment (may be empty)", commentNeeded: "Comment", howLong: "For how long?",
  cancel: "Cancel", ok: "OK", ofAlarms: "{count} alarms", cannotShelve: "{count} of them cannot be shelved.",
  doing: "on its way", failed: "{action}: {error}", lost: "no answer came: look whether it was done", someFailed: "{done} of {all} done; {failed} failed",
  allDone: "{count} {action}", needsSignIn: "sign in to act", dismiss: "Dismiss",
  bannerAway: "Away: {names}", bannerShelved: "{count} shelved", bannerSuppressed: "{count} suppressed",
  bannerOut: "{count} out of service", bannerLost: "No connection since {time}: what is shown is from then.",
  bannerBack: "Back after {time}: {came} came, {went} went.",
  sound: "Sound", soundHint: "Sound for new alarms", notices: "Notices", noticesHint: "Browser notices of new alarms",
  noticesDenied: "The browser does not allow notices of this page.", newAlarms: "{count} new alarms", keys: "Keys",
  keyMove: "next, previous alarm", keyOpen: "open the alarm", keyAcknowledge: "acknowledge", keyComment: "comment", keyShelve: "shelve",
  keySelect: "select", keySelectAll: "select all, or none", keyUnfold: "unfold, fold", keyWhy: "why", keySearch: "search", keyHelp: "these keys", keyEscape: "clear selection and search",
  // its figures
  figure_since: "from", figure_until: "to", figure_known_since: "known since", figure_operators: "operators", figure_alarms: "alarms",
  figure_by_priority: "by priority", figure_critical: "critical", figure_high: "high", figure_medium: "medium", figure_low: "low", figure_none: "others",
  figure_per_10_minutes: "in 10 minutes", figure_per_operator_10_minutes: "for each operator in 10 minutes", figure_periods: "periods",
  figure_average: "average", figure_maximum: "most", figure_flooded: "in floods", figure_flooded_share: "part in floods", figure_floods: "floods",
  figure_most_frequent: "most frequent", figure_share: "part", figure_chattering: "chattering", figure_stale: "active for over a day",
  figure_unacknowledged: "longest unacknowledged", figure_acknowledged: "until acknowledged", figure_count: "count", figure_median_seconds: "median",
  figure_p90_seconds: "nine of ten within", figure_seconds: "for", figure_begins: "began", figure_ends: "ended", figure_text: "alarm",
};

const GERMAN = {
  connecting: "verbindet", running: "läuft", notReady: "nicht bereit", awayEnds: "weg: {names}", asideActors: "eingeschränkt: {names} beiseitegelegt",
  leads: "führt seit {since} (Epoche {epoch})", leadsAlone: "führt allein seit {since} (Epoche {epoch})",
  follows: "steht bereit seit {since} (Epoche {epoch})",
  followsBehind: "steht bereit, ihm fehlen {lag} Commits seit {seconds} s (Epoche {epoch})",
  noConnection: "keine Verbindung", noConnectionSince: "keine Verbindung seit {time}",
  signIn: "Anmelden", signInToWrite: "Zum Schreiben anmelden", signInToAct: "Zum Handeln anmelden", token: "Token", program: "Programm",
  signInTitle: "tidelog: Anmeldung",
  time: "Zeit", facts: "Fakten", late: "zu spät", waiting: "wartend", language: "English", languageLabel: "Show in English",
  views: "Ansichten", viewAlarms: "Alarme", viewHistory: "Verlauf", viewFigures: "Kennzahlen", viewRun: "Lauf",
  holdingNow: "Gilt jetzt", pages: "Seiten", laterOnes: "Die später begannen", earlierOnes: "Die früher begannen",
  nothingHolds: "Nichts gilt jetzt.", mayFollow: "Was folgen kann", nothingSpeaks: "Nichts spricht jetzt für eine Antwort.",
  history: "Verlauf", zoom: "Vergrößerung", zoomIn: "Vergrößern", zoomInKey: "Vergrößern: +", zoomOut: "Verkleinern", zoomOutKey: "Verkleinern: −",
  all: "alles", allKey: "Alles: 0", now: "jetzt", nowKey: "Der Gegenwart folgen: N",
  timelineLabel: "Zeitstrahl. Pfeiltasten bewegen, Plus und Minus vergrößern, 0 zeigt alles, N folgt der Gegenwart.",
  noAnswer: "Noch keine Antwort.", sources: "Quellen", noSource: "Noch keine Quelle.", letters: "Unbrauchbares",
  actors: "Akteure", actor: "Akteur", process: "Prozess", heldRows: "Zeilen", atWork: "beschäftigt", restarts: "Neustarts", knowsUpTo: "vollständig bis",
  waitsFor: "wartet auf", setAside: "beiseitegelegt: {why}",
  noLetters: "Alles war brauchbar.", violations: "Verletzte Bedingungen", rules: "Regeln", fit: "einpassen",
  rulesLabel: "Schritte der Regeln, von den Quellen zu den Antworten", handIn: "Einen Fakt eingeben",
  factLabel: "JSON, ein Fakt je Zeile", send: "Senden", asPicture: "Als Bild", close: "Schließen",
  why: "warum", whyOf: "Warum {what}", since: "seit {time}", left: "noch {time}", noDeadline: "ohne Frist", andMore: "und {count} weitere",
  where: "wobei {text}", atTime: "um {time}", evidence: "Belege", evidenceOf: "{has} von {all}", ago: "vor {time}",
  behind: "{time} zurück", silent: "hat nichts gesagt", idle: "ruht", ended: "beendet", taken: "{count} angenommen",
  oneLane: "1 Spur", lanes: "{count} Spuren", lanesDropped: ", {count} ältere weggelassen", laneFrom: "von {begin} {end}",
  laneOn: "an", laneTo: "bis {time}", lanesLabel: "{count} Spuren: {names}", oneRow: "1 Zeile", rows: "{count} Zeilen", told: "{count} gemeldet",
  search: "Suchen", searchHint: "Alarme suchen (/)", states: "Zustände", priorities: "Prioritäten", groupBy: "Gruppen", sortBy: "Reihenfolge",
  groupCause: "Ursache", groupPlace: "Ort", groupRule: "Regel", groupNone: "keine",
  sortUrgency: "Dringlichkeit", sortPriority: "Priorität", sortState: "Zustand", sortNewest: "neueste", sortOldest: "älteste",
  critical: "kritisch", high: "hoch", medium: "mittel", low: "niedrig",
  unacknowledged: "unquittiert", acknowledged: "quittiert", returned_unacknowledged: "gegangen, unquittiert",
  shelved: "zurückgestellt", suppressed: "unterdrückt", out_of_service: "außer Betrieb", normal: "normal",
  openAlarms: "Offene Alarme", noAlarms: "Kein Alarm ist offen.", noMatch: "Kein Alarm passt.", showAll: "Alle zeigen", selectAll: "Alle auswählen",
  select: "{text} auswählen", selected: "{count} ausgewählt", clear: "Aufheben", more: "Mehr", moreOf: "Mehr zu {text}",
  groupCount: "{open} von {count} unquittiert", foldedIn: "{count} hierin gefaltet", unfold: "{count} von {text} aufklappen", fold: "{count} von {text} zuklappen", foldedInto: "Gefaltet in",
  acknowledge: "Quittieren", comment: "Kommentieren", shelve: "Zurückstellen", unshelve: "Zurückholen", remove: "Außer Betrieb", restore: "In Betrieb",
  acknowledgeShort: "Quittieren", acknowledgeOf: "{text} quittieren",
  doneacknowledge: "quittiert", donecomment: "kommentiert", doneshelve: "zurückgestellt", doneunshelve: "zurückgeholt",
  doneremove: "außer Betrieb genommen", donerestore: "in Betrieb genommen",
  beganEntry: "gekommen", endedEntry: "gegangen", correctedEntry: "war nie: ein Fakt wurde zurückgenommen",
  by: "von {who}", byAt: "{who}, {time}", until: "bis {time}", begins: "Gekommen", ends: "Gegangen", state: "Zustand", priority: "Priorität",
  rule: "Regel", acknowledgedBy: "Quittiert", shelvedBy: "Zurückgestellt", removedBy: "Außer Betrieb", comments: "Kommentare",
  suppressedByDesign: "Planmäßig unterdrückt", yes: "ja", gone: "Dieser Alarm ist nicht mehr offen.", alarmTitle: "Alarm",
  whatHappened: "Was geschah", reason: "Warum", showReason: "Warum gilt er?", noReason: "Dieser Lauf begründet nicht.",
  loading: "…", moreEntries: "Frühere", noEntries: "Nichts ist geschehen.", noFigures: "Es gibt keine Kennzahlen.",
  values: "Werte dahinter", valuesLabel: "{name}: {count} Werte von {least} bis {most}, zuletzt {last}",
  valuesLeftOut: "{count} frühere Werte sind nicht gezeigt.", seriesLeftOut: "{count} weitere Reihen sind nicht gezeigt.", beginMark: "gekommen",
  yourName: "Ihr Name", whoWhy: "Er steht bei allem, was Sie tun, und bleibt in diesem Browser.", actAs: "Es handelt: {who}", changeName: "Namen ändern",
  noName: "Wer handelt?", commentOptional: "Kommentar (darf leer sein)", commentNeeded: "Kommentar", howLong: "Wie lange?",
  cancel: "Abbrechen", ok: "OK", ofAlarms: "{count} Alarme", cannotShelve: "{count} davon lassen sich nicht zurückstellen.",
  doing: "unterwegs", failed: "{action}: {error}", lost: "keine Antwort kam: sehen Sie nach, ob es geschah", someFailed: "{done} von {all} getan; {failed} gescheitert",
  allDone: "{count} {action}", needsSignIn: "zum Handeln anmelden", dismiss: "Verwerfen",
  bannerAway: "Weg: {names}", bannerShelved: "{count} zurückgestellt", bannerSuppressed: "{count} unterdrückt",
  bannerOut: "{count} außer Betrieb", bannerLost: "Keine Verbindung seit {time}: Gezeigt wird der Stand von damals.",
  bannerBack: "Zurück nach {time}: {came} kamen, {went} gingen.",
  sound: "Ton", soundHint: "Ton bei neuen Alarmen", notices: "Meldungen", noticesHint: "Meldungen des Browsers bei neuen Alarmen",
  noticesDenied: "Der Browser erlaubt dieser Seite keine Meldungen.", newAlarms: "{count} neue Alarme", keys: "Tasten",
  keyMove: "nächster, voriger Alarm", keyOpen: "Alarm öffnen", keyAcknowledge: "quittieren", keyComment: "kommentieren", keyShelve: "zurückstellen",
  keySelect: "auswählen", keySelectAll: "alle auswählen, oder keinen", keyUnfold: "auf-, zuklappen", keyWhy: "warum", keySearch: "suchen", keyHelp: "diese Tasten", keyEscape: "Auswahl und Suche aufheben",
  figure_since: "von", figure_until: "bis", figure_known_since: "bekannt seit", figure_operators: "Bediener", figure_alarms: "Alarme",
  figure_by_priority: "nach Priorität", figure_critical: "kritisch", figure_high: "hoch", figure_medium: "mittel", figure_low: "niedrig", figure_none: "andere",
  figure_per_10_minutes: "in 10 Minuten", figure_per_operator_10_minutes: "je Bediener in 10 Minuten", figure_periods: "Zeiträume",
  figure_average: "Mittel", figure_maximum: "höchstens", figure_flooded: "in Fluten", figure_flooded_share: "Anteil in Fluten", figure_floods: "Fluten",
  figure_most_frequent: "häufigste", figure_share: "Anteil", figure_chattering: "flatternd", figure_stale: "länger als einen Tag aktiv",
  figure_unacknowledged: "am längsten unquittiert", figure_acknowledged: "bis zur Quittierung", figure_count: "Anzahl", figure_median_seconds: "Median",
  figure_p90_seconds: "neun von zehn binnen", figure_seconds: "Dauer", figure_begins: "gekommen", figure_ends: "gegangen", figure_text: "Alarm",
};

export const TEXTS = { en: ENGLISH, de: GERMAN };
const KEPT = "tidelog.language";

export function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // the browser keeps nothing of this page
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // as above
  }
}

export const language = chosen();
/** How dates and numbers are written: as the browser does, unless it speaks another language. */
export const locale = navigator.language.toLowerCase().startsWith(language) ? undefined : language;

function chosen() {
  const told = kept(KEPT);
  if (told in TEXTS) return told;
  return navigator.language.toLowerCase().startsWith("de") ? "de" : "en";
}

/** The text of this name; what stands in braces is replaced by values. A name that has none is told as it is. */
export function t(name, values = {}) {
  const text = TEXTS[language][name] ?? name;
  return text.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
}

export function switchLanguage() {
  keep(KEPT, language === "de" ? "en" : "de");
  location.reload();
}

function translate() {
  document.documentElement.lang = language;
  for (const each of document.querySelectorAll("[data-text]")) each.textContent = t(each.dataset.text);
  for (const each of document.querySelectorAll("[data-label]")) each.setAttribute("aria-label", t(each.dataset.label));
  for (const each of document.querySelectorAll("[data-hint]")) each.setAttribute("placeholder", t(each.dataset.hint));
  for (const each of document.querySelectorAll("[data-title]")) each.setAttribute("title", t(each.dataset.title));
  if (document.body.classList.contains("login")) document.title = t("signInTitle");
}

translate();
