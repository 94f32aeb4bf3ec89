// Does something again and again: each run sets the timer for the next one. The first one is set when the function is
// deployed; what a constant says is how long a period is.
function OnDeploy(action) { next(0); }

function OnUpdate(doc, meta) {}

function next(run) { createTimer(tick, new Date(Date.now() + period), 'tick', {run: run}); }

function tick(context) {
  let open = 0;
  const rows = SELECT META().id FROM tasks WHERE state = 'open';
  for (const row of rows) open++;
  reports['latest'] = {run: context.run, open: open};
  next(context.run + 1);
}
