// Reminds of a task when it is due. A task that changes moves its reminder, since both have one name; one that is done
// or deleted has none.
function OnUpdate(doc, meta) {
  if (doc.due && doc.state !== 'done') {
    createTimer(remind, new Date(doc.due), meta.id, {task: meta.id, title: doc.title});
  } else {
    cancelTimer(remind, meta.id);
  }
}

function OnDelete(meta, options) { cancelTimer(remind, meta.id); }

function remind(context) {
  inbox['reminder:' + context.task] = {text: 'due now: ' + context.title};
}
