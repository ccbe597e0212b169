"""The slow model with Actions: consumed facts stay as archived nodes and hide whatever cites them.

Which of several matches an action takes is the engine's to say; the model checks that it
is a match, counts them, and performs the effects by itself.
"""

from __future__ import annotations

from tests.rules.naive import matches, value_of
from tests.space.model import Model, as_fact, lit


class ActingModel(Model):
    # --- operations
    def assert_fact(self, operation):
        said = as_fact(operation)
        if said not in self.base():
            self.put(operation, {"kind": "fact", "fact": said})

    def define_action(self, operation):
        self.put(operation, {"kind": "action", "pre": list(map(lit, operation["preconditions"])), "effects": list(map(lit, operation["effects"]))})

    # --- what follows
    def hidden(self):
        """Archived nodes, and all that rests on one."""
        found = {key for key, node in self.nodes.items() if node.get("archived")}
        while more := {key for key, node in self.nodes.items() if key not in found and found & (set(node["refs"]) - {key})}:
            found |= more
        return found

    def base(self):
        hidden = self.hidden()
        return [node["fact"] for key, node in self.nodes.items() if node["kind"] == "fact" and key not in hidden]

    # --- applying
    def bindings(self, name):
        """Every distinct way the action binds now."""
        return {frozenset(env.items()) for env in matches(self.nodes[name]["pre"], list(self.held))}

    def act(self, name, binding, made, event):
        """Perform the effects in order. `made`: the ids of what it should produce, one for each; gives what it did."""
        env, made, produced, consumed = dict(binding), list(made), [], []
        for effect in self.nodes[name]["effects"]:
            atom = effect.predicate, False, frozenset((n, value_of(t, env)) for n, t in effect.args)
            hidden = self.hidden()
            stated = [node for key, node in self.nodes.items() if key not in hidden and node["kind"] == "fact" and node["fact"] == atom]
            if effect.negated:
                for node in stated:
                    node["archived"] = True
                consumed += [atom] * bool(stated)
            elif not stated:
                produced.append(atom)
                self.nodes[made.pop(0)] = {"kind": "fact", "fact": atom, "refs": [name]}
        self.nodes[event] = {"kind": "event", "refs": [name]}
        self.settle()
        return produced, consumed
