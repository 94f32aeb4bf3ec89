// A session that is not renewed within its time expires; what expires is counted.
function OnUpdate(doc, meta) {
  if (doc.expires) return;
  const at = new Date(Date.now() + (doc.ttl_seconds || 3600) * 1000);
  doc.expires = at.toISOString();
  couchbase.upsert(sessions, {id: meta.id, expiry_date: at}, doc);
}

function OnDelete(meta, options) {
  if (options.expired) couchbase.increment(counts, {id: 'expired'});
}
