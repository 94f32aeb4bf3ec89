// Watches payments: more than a limit from one account within a day raises an alert, once.
function OnUpdate(doc, meta) {
  const account = doc.account;
  const since = new Date(new Date(doc.time) - 24 * 3600 * 1000).toISOString();
  const until = doc.time;
  let sum = 0;
  const rows = SELECT amount FROM payments WHERE account = $account AND time > $since AND time <= $until;
  for (const row of rows) {
    sum += row.amount;
    if (sum > most) break;
  }
  if (sum <= most) return;
  const done = couchbase.insert(alerts, {id: account + ':' + until.slice(0, 10)}, {account: account, payment: meta.id});
  if (done.success) log('alert for', account);
}
