// Keeps names unique: the first user with a name has it, who comes later with it is marked. A name is free again when
// its user changes it or goes.
function OnUpdate(doc, meta) {
  const mine = names['user:' + meta.id];
  if (mine && mine.name !== doc.name) free(meta.id, mine.name);
  const claim = couchbase.insert(names, {id: 'name:' + doc.name}, {user: meta.id});
  const taken = !claim.success && names['name:' + doc.name].user !== meta.id;
  if (!taken) names['user:' + meta.id] = {name: doc.name};
  if (taken === Boolean(doc.name_taken)) return;
  doc.name_taken = taken;
  users[meta.id] = doc;
}

function OnDelete(meta, options) {
  const mine = names['user:' + meta.id];
  if (mine) free(meta.id, mine.name);
}

function free(id, name) {
  delete names['name:' + name];
  delete names['user:' + id];
}
