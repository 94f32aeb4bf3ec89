// Moves tasks that are done to the archive. Both writes are one: a task is never in none of the databases.
function OnUpdate(doc, meta) {
  if (doc.state !== 'done') return;
  archive[meta.id] = Object.assign(doc, {archived: meta.rev});
  delete tasks[meta.id];
}
