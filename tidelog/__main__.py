"""`python -m tidelog`: the command line."""

from tidelog.cli import program

if __name__ == "__main__":
    program()
