"""The long description: the README, whose relative links lead to the repository when it is read elsewhere."""

import re
from pathlib import Path

from setuptools import setup

REPOSITORY = "https://github.com/tidelog/tidelog"

readme = Path(__file__).with_name("README.md").read_text("utf-8")
setup(
    long_description=re.sub(r"\]\((?!https?:|#)([^)]+)\)", rf"]({REPOSITORY}/blob/main/\1)", readme),
    long_description_content_type="text/markdown",
)
