// Completes each contact with what follows from it. The function does not see its own writes.
function OnUpdate(doc, meta) {
  const full = [doc.first, doc.last].filter(Boolean).join(' ');
  const domain = (doc.email || '').split('@')[1] || null;
  if (doc.full === full && doc.domain === domain) return;
  doc.full = full;
  doc.domain = domain;
  contacts[meta.id] = doc;
}
