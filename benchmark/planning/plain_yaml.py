"""YAML from anybody: plain values and nothing else.

No objects (that is PyYAML's safe loader), no aliases, with which a few lines can stand for billions of values, no
nesting beyond what a reader could follow, and no key twice, of which YAML would silently take the last.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

DEPTH = 32


def load_yaml(text: str) -> Any:
    """The values of one document; yaml.YAMLError says what is wrong with it."""
    try:
        return yaml.load(text, PlainLoader)
    except (ValueError, OverflowError) as error:  # a day that no month has, a number of too many digits
        raise yaml.YAMLError(str(error)) from error


class PlainLoader(yaml.SafeLoader):
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        mark = self.peek_event().start_mark
        if self.check_event(yaml.AliasEvent):
            raise ComposerError(None, None, "aliases are not read; write the value out", mark)
        if self.depth == DEPTH:
            raise ComposerError(None, None, f"nested more than {DEPTH} deep", mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        found = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in found:
                raise ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
            found.add(key.value)
        return super().construct_mapping(node, deep)
