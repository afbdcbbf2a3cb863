// Programs in colours, by the patterns that Pygments has for them (`colours.json`), with what is marked in them underlined.

const rules = (await (await fetch("colours.json")).json()).map(([pattern, flags, kinds]) => [new RegExp(pattern, flags), kinds]);

// The stretches of a text, each with its kind: [[text, kind], …].
function* stretches(text) {
  for (let at = 0; at < text.length; ) {
    const [kinds, match] = first(text, at);
    const parts = kinds.length > 1 ? match.slice(1) : [match[0]];
    for (const [number, part] of parts.entries()) yield [part, kinds[number]];
    at += match[0].length;
  }
}

function first(text, at) {
  for (const [rule, kinds] of rules) {
    rule.lastIndex = at;
    const match = rule.exec(text);
    if (match && match[0]) return [kinds, match];
  }
  return [[""], [text[at]]];
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

// HTML for a program; `marks` are stretches of it, each with what it is marked as.
export function coloured(text, marks) {
  const html = [];
  let at = 0;
  for (const [part, kind] of stretches(text)) {
    for (let begin = at, end = at + part.length; begin < end; ) {
      const over = marks.find((mark) => mark.start <= begin && begin < Math.max(mark.end, mark.start + 1));
      const next = marks.flatMap(({ start, end }) => [start, Math.max(end, start + 1)]).filter((place) => place > begin);
      const until = Math.min(end, ...next);
      const classes = [kind, over?.severity].filter(Boolean).join(" ");
      html.push(classes ? `<span class="${classes}">${escaped(text.slice(begin, until))}</span>` : escaped(text.slice(begin, until)));
      begin = until;
    }
    at += part.length;
  }
  return `${html.join("")}\n `; // as high as what is typed, though it ends with an empty line; a mark there is seen, too
}
