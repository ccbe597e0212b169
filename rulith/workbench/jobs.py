"""What an Agent is started for on the page: the calculation, by the board driver, or conversations. One at a time.

For the calculation the Agent is a child of this run with its token and nothing else; what it
tells becomes a Run. No model takes part, so no model setting is handed over.
"""

from __future__ import annotations

from rulith.base.canonical import canonical_text
from rulith.base.clock import stamp
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.disk.example import read_order
from rulith.disk.locks import holder_of
from rulith.disk.profiles import agent_secrets
from rulith.workbench import calculation
from rulith.workbench.bench import Workbench
from rulith.workbench.instances import Instance
from rulith.workbench.models import model_row
from rulith.workbench.roles import Event, last_line
from rulith.workbench.runs import Run
from rulith.workbench.supervision import Is

STOP_GRACE_S = 10.0
TASK = "Do the verified calculation of this job."


async def start(bench: Workbench, instance: Instance, case_type: object, job_id: object = None) -> Run:
    """Give the Agent the job that the input file names; returns once its process runs.

    job_id   the job that it must name, where a Case of before is to go on
    Raises Refused: case_type_unknown, run_under_way, agent_started, gateway_not_ready, worker_not_online, order_refused,
    job_not_in_input, job_closed_otherwise, role_not_started.
    """
    if case_type not in calculation.CASE_TYPES:
        raise Refused("case_type_unknown", case_type=case_type, known=", ".join(calculation.CASE_TYPES))
    if instance.busy:
        current = instance.current()
        raise Refused("run_under_way", name=instance.name, since=current.started_at if current else "just now")
    if instance.talker.is_wanted:
        raise Refused("agent_started", name=instance.name)
    bench.check_may_start(instance, "agent")
    instance.busy = True
    try:
        order = read_order(calculation.input_path(instance.profile.workspace))
        if job_id not in (None, order["job_id"]):
            raise Refused("job_not_in_input", job_id=str(job_id)[:100], held=order["job_id"])
        await _check_free(bench, instance, str(case_type), order)
        if instance.worker.state is not Is.ONLINE:
            raise Refused("worker_not_online", name=instance.name, state=instance.worker.state.value.replace("_", " "))
        run = Run(mint("run_", 12), order["job_id"], str(case_type), dict(order), stamp(bench.clock.wall_s()))
        instance.add(run)
        try:
            await _launch(bench, instance, run)
        except Refused:
            instance.runs.remove(run)
            raise
    except BaseException:
        instance.busy = False
        bench.changed()
        raise
    _show(bench, instance, run)
    bench.changed()
    bench.record_children()
    bench.spawn_task(_live(bench, instance, run), f"run {run.id}")
    return run


async def stop(bench: Workbench, instance: Instance) -> None:
    """Ask the Agent to end; what it has claimed of the world stays as it is. Raises Refused run_not_running."""
    run = instance.current()
    if run is None or instance.agent is None:
        raise Refused("run_not_running", name=instance.name)
    if not run.stopping:
        run.stopping = True
        _show(bench, instance, run)
        bench.spawn_task(_end(instance), f"stop {run.id}")


def start_talk(bench: Workbench, instance: Instance) -> None:
    """Start the Agent for conversations. Raises Refused: run_under_way, agent_not_ready, gateway_not_ready."""
    if instance.talker.is_wanted:
        return
    if instance.busy:
        current = instance.current()
        raise Refused("run_under_way", name=instance.name, since=current.started_at if current else "just now")
    bench.check_may_start(instance, "agent")
    model = model_row(instance.profile)
    if not model["ready"]:
        raise Refused("agent_not_ready", name=instance.name, problem=str(model["reason"] or "no model is configured").rstrip("."),
                      todo="Open the model settings.")
    if not bench.link.url:
        raise Refused("gateway_not_ready", problem="it has not started yet")
    if (held := holder_of(instance.profile.agent_lock)) is not None:
        raise Refused("agent_not_ready", name=instance.name, problem=held.happened.rstrip("."), todo="Let it finish, then start this Agent.")
    instance.talker.role.start()


async def _end(instance: Instance) -> None:
    if instance.agent is not None:
        await instance.agent.stop(STOP_GRACE_S)


async def _check_free(bench: Workbench, instance: Instance, case_type: str, order: dict) -> None:
    """A job that is closed for other numbers is refused here, before anything starts."""
    state = await bench.link.get("state")
    agent = instance.profile.agent_id
    case_id = calculation.closed_case(state.get("cases", []), agent, case_type, order["job_id"])
    if case_id is not None:
        detail = await bench.link.get("case", {"agent": agent, "case": case_id})
        calculation.check_same_numbers(order, case_id, detail.get("facts", []))


async def _launch(bench: Workbench, instance: Instance, run: Run) -> None:
    token = agent_secrets(instance.profile).load().get("RULITH_TOKEN", "")
    env = {"RULITH_TOKEN": token, "RULITH_URL": bench.link.url, "RULITH_HOME": str(bench.home.path), **bench.trust}
    args = [*bench.plain_args, "--driver", "board", "--json", "--case-type", run.case_type,
            "--business-key", canonical_text({"job_id": run.job_id}), TASK]

    def heard(event: Event) -> None:
        if run.ended_at is None and run.take(event, stamp(bench.clock.wall_s())):
            _show(bench, instance, run)

    instance.agent = await bench.spawn("agent", env=env, args=args,
                                       log_path=bench.home.logs / f"agent-{instance.id}.log", on_event=heard)


async def _live(bench: Workbench, instance: Instance, run: Run) -> None:
    """Wait for the Agent's end and tell how it ended."""
    agent = instance.agent
    assert agent is not None
    code = await agent.wait()
    run.end(code, stamp(bench.clock.wall_s()), last_line(agent.last_words()))
    instance.agent, instance.busy = None, False
    _show(bench, instance, run)
    bench.changed()
    bench.record_children()


def _show(bench: Workbench, instance: Instance, run: Run) -> None:
    bench.feed.put("run", src="agent", instance=instance.id, run=run.row())
