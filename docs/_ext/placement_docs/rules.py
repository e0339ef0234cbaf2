"""`.. policy-rules::`: every rule with its default and its operations."""

from docutils import nodes
from oslo_policy import policy
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement.entry.generators import rules
from placement_docs import text


def rule_tables() -> str:
    """Return two tables: base rules, and rules of operations."""
    made_of = [rule for rule in rules() if not isinstance(rule, policy.DocumentedRuleDefault)]
    asked = [rule for rule in rules() if isinstance(rule, policy.DocumentedRuleDefault)]
    base = text.table(
        ("Rule", "Default"),
        [(f"``{rule.name}``", f"``{rule.check_str}``") for rule in made_of],
        (34, 66),
    )
    operations = text.table(
        ("Rule and default", "Operations"),
        [
            (
                f"``{rule.name}``\n\n``{rule.check_str}``",
                "\n\n".join(f"``{use['method']} {use['path']}``" for use in rule.operations),
            )
            for rule in asked
        ],
        (50, 50),
    )
    return (
        f"{text.heading('Base rules', '=')}\n{base}\n"
        f"{text.heading('Rules of operations', '=')}\n{operations}"
    )


class PolicyRules(SphinxDirective):
    """All rules."""

    def run(self) -> list[nodes.Node]:
        """Return the tables with their headings."""
        return self.parse_text_to_nodes(rule_tables(), allow_section_headings=True)


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("policy-rules", PolicyRules)
