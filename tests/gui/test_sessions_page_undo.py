"""What can be taken back: the stack by itself."""

from __future__ import annotations

from app.undo import Outcome, UndoStack


class Step:
    def __init__(self, name: str) -> None:
        self.name = name

    def words(self) -> str:
        return self.name

    def do(self) -> Outcome:
        return Outcome()

    def undo(self) -> Outcome:
        return Outcome()


def test_last_in_first_out_and_back_again() -> None:
    stack = UndoStack()
    one, two = Step("one"), Step("two")
    stack.push(one)
    stack.push(two)
    assert stack.take_undo() is two
    stack.put_undone(two)
    assert stack.take_undo() is one
    stack.put_undone(one)
    assert not stack.can_undo
    assert stack.take_redo() is one
    stack.put_done(one)
    assert stack.can_undo and stack.can_redo


def test_something_new_ends_what_could_be_done_again() -> None:
    stack = UndoStack()
    stack.push(Step("one"))
    undone = stack.take_undo()
    assert undone is not None
    stack.put_undone(undone)
    stack.push(Step("two"))
    assert stack.take_redo() is None


def test_the_oldest_goes_at_the_limit_and_clear_forgets_all() -> None:
    stack = UndoStack(limit=2)
    steps = [Step(str(number)) for number in range(3)]
    for step in steps:
        stack.push(step)
    assert [stack.take_undo(), stack.take_undo(), stack.take_undo()] == [steps[2], steps[1], None]
    stack.push(steps[0])
    stack.clear()
    assert not stack.can_undo and not stack.can_redo
