-- What `turnetl sql` offers: views over the episodes tables of a lake, and the facts of its graph.

create view turns as
select
    turn_id, group_id, format as agent, session_id, ordinal, started_at, ended_at,
    user_text as prompt, assistant_text as answer, model, cwd, git_branch, kind, noise,
    len(tool_calls) as calls,
    len(list_filter(tool_calls, lambda one: one.is_error)) as failed_calls,
    len(subagents) as subagents,
    copies, redactions, archive, first_line, last_line
from episodes
where is_first;

create view steps as
select
    turn_id, group_id, row_number() over (partition by turn_id) as step, subagent, agent_id,
    call.name as tool, call.input as input, call.result as result, call.is_error as is_error,
    call.ended_at as ended_at
from (
    select turn_id, group_id, null as subagent, null as agent_id, unnest(tool_calls) as call
    from episodes
    where is_first
    union all
    select turn_id, group_id, run.type, run.agent_id, unnest(run.tool_calls)
    from (select turn_id, group_id, unnest(subagents) as run from episodes where is_first)
);

create view tokens as
select
    turn_id, group_id, subagent, model, day, input_tokens, cache_write_tokens, cache_read_tokens,
    output_tokens, reasoning_tokens
from (
    select
        turn_id, group_id, null as subagent, used.model as model, used.day::date as day,
        used.input_tokens, used.cache_write_tokens, used.cache_read_tokens, used.output_tokens,
        used.reasoning_tokens,
        row_number() over (partition by used.message order by started_at, turn_id) as nth
    from (
        select turn_id, group_id, started_at, unnest(usage) as used from episodes where is_first
    )
    union all
    select
        turn_id, group_id, coalesce(run.type, 'subagent'), run.model, run.started_at::date,
        run.input_tokens, run.cache_write_tokens, run.cache_read_tokens, run.output_tokens,
        run.reasoning_tokens, 1
    from (select turn_id, group_id, unnest(subagents) as run from episodes where is_first)
)
where nth = 1;

create view entities as
select uuid as entity_id, group_id, name, labels[1] as label, summary, created_at
from graph_entities;

create view facts as
select
    fact.uuid as fact_id, fact.group_id, source.name as source, fact.relation,
    target.name as target, fact.text, fact.turns[1] as turn_id, fact.valid_at, fact.invalid_at,
    fact.invalid_at is null and fact.expired_at is null as holds,
    fact.source as source_id, fact.target as target_id
from graph_facts as fact
join graph_entities as source on source.uuid = fact.source
join graph_entities as target on target.uuid = fact.target;

create view decisions as
select fact_id, group_id, source as decision, relation, target as about, text, turn_id,
    valid_at as decided_at, invalid_at as ended_at, holds
from facts
where relation in ('DECIDED', 'REJECTED');

create view errors as
select
    failed.fact_id, failed.group_id, failed.source as failed, failed.target as error, failed.text,
    failed.turn_id, failed.valid_at as failed_at, fixed.text as resolution,
    fixed.turn_id as resolved_by, fixed.valid_at as resolved_at
from facts as failed
left join lateral (
    select text, turn_id, valid_at
    from facts
    where relation = 'FIXED_BY' and source_id in (failed.source_id, failed.target_id)
        and valid_at >= failed.valid_at
    order by valid_at
    limit 1
) as fixed on true
where failed.relation in ('FAILED_WITH', 'REPORTED');

comment on view turns is 'Each turn once, also if copies of its session are in other groups.';
comment on view steps is 'Each tool call of these turns and of their subagents.';
comment on view tokens is 'Tokens of each message of a model once, and of each subagent.';
comment on view entities is 'What the facts are about.';
comment on view facts is 'What the turns state, with the names of both ends.';
comment on view decisions is 'What was decided or rejected, and whether it holds.';
comment on view errors is 'What failed or was reported, and what resolved it.';
