import asyncio

from app.api.pace import PIECE_CHARACTERS, Line, Pace


async def test_between_two_rounds_of_the_loop_one_piece_is_done_however_many_do_long_work() -> None:
    line, done, in_a_round = Line(), 0, []

    async def work() -> None:
        nonlocal done
        pace = Pace(line)
        for _ in range(10):
            done += 1
            await pace.keep(PIECE_CHARACTERS)

    working = [asyncio.create_task(work()) for _ in range(50)]
    await asyncio.sleep(0)  # All have begun, each with a piece.
    while not all(task.done() for task in working):
        before = done
        await asyncio.sleep(0)  # One round of the loop, which is what is measured.
        in_a_round.append(done - before)

    assert max(in_a_round) == 1
    assert done == 500


async def test_turns_are_taken_in_the_order_in_which_they_were_asked_for() -> None:
    line, turns = Line(), []

    async def work(name: str) -> None:
        pace = Pace(line)
        for _ in range(3):
            await pace.keep(PIECE_CHARACTERS)
            turns.append(name)

    await asyncio.gather(*(work(name) for name in "abc"))

    assert "".join(turns) == "abcabcabc"


async def test_short_work_waits_for_no_turn() -> None:
    line = Line()
    pace, other = Pace(line), asyncio.create_task(Pace(line).keep(PIECE_CHARACTERS))
    for _ in range(9):
        await pace.keep(PIECE_CHARACTERS // 10)

    assert not other.done()
    await other


async def test_one_who_goes_while_it_waits_keeps_nobody_from_going_on() -> None:
    line = Line()
    first, gone, last = (asyncio.create_task(line.turn()) for _ in range(3))
    await asyncio.sleep(0)  # All three have asked for their turn.
    gone.cancel()

    await asyncio.wait_for(asyncio.gather(first, last), 5)
