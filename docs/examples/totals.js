// Keeps the number and the sum of each customer's orders. Orders change and go: what an order added is kept beside it.
function OnUpdate(doc, meta) { count(meta.id, doc.customer, doc.total); }

function OnDelete(meta, options) { count(meta.id, null, 0); }

function count(id, customer, total) {
  const key = 'order:' + id;
  const before = totals[key];
  if (before) add(before.customer, -1, -before.total);
  if (customer) {
    add(customer, 1, total);
    totals[key] = {customer: customer, total: total};
  } else {
    delete totals[key];
  }
}

function add(customer, orders, total) {
  const key = 'customer:' + customer;
  const sum = totals[key] || {orders: 0, total: 0};
  totals[key] = {orders: sum.orders + orders, total: sum.total + total};
}
