// Tells another server of each order that was paid, and keeps a record of it. The handler waits for neither: the
// messages are stored with its other effects and delivered from there, as often as it takes. The id names this change of
// the order, so that the shop can drop what it gets twice.
function OnUpdate(doc, meta) {
  if (doc.state !== 'paid') return;
  const message = {order: meta.id, customer: doc.customer, total: doc.total};
  publish(shop, message, {id: meta.id + '@' + meta.rev, headers: {'X-Event': 'paid'}});
  publish(audit, message, {id: 'paid:' + meta.id});
}
