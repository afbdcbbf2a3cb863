"""Run a document with the tidelog that is installed beside this Python: `run_document.py ROOT DOCUMENT`, in an empty folder.

Where something else came than the document shows, it prints both, and the exit code is 1.
"""

import sys
from pathlib import Path

import tidelog

root, document = Path(sys.argv[1]), sys.argv[2]
assert not Path(tidelog.__file__).is_relative_to(root), tidelog.__file__
sys.path += [str(root / "tests"), str(root)]  # behind what is installed: the tidelog of the tree is not used

from examples.documents import run_document  # noqa: E402 - where it is, is said before

differences = [told for told in run_document(document, Path.cwd()) if told[1] != told[2]]
for place, shown, came in differences:
    sys.stdout.write(f"{place} shows\n{shown}and there came\n{came}")
sys.exit(bool(differences))
