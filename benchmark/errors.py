"""Mistakes of whoever runs the suite, as opposed to bugs in it.

The command line prints the message of these and nothing else; whatever else is raised keeps its traceback. Both are
ValueErrors, so that a program that calls the suite need not know them. Imports nothing, so that everything may import
it.
"""


class UserError(ValueError):
    """A command, a setting or a plugin that cannot be; the message names the remedy."""

    exit_code = 2


class FileError(UserError):
    """The command is fine, a file or a folder is not; the message names it and the remedy."""

    exit_code = 1
