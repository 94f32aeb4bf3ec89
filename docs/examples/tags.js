// Keeps a document for each tag with the articles that have it.
function OnUpdate(doc, meta) {
  const key = 'article:' + meta.id;
  const before = (tags[key] || {tags: []}).tags;
  const now = doc.tags || [];
  for (const tag of before) if (!now.includes(tag)) remove(tag, meta.id);
  for (const tag of now) add(tag, meta.id);
  tags[key] = {tags: now};
}

function OnDelete(meta, options) {
  const key = 'article:' + meta.id;
  for (const tag of (tags[key] || {tags: []}).tags) remove(tag, meta.id);
  delete tags[key];
}

function add(tag, id) {
  const key = 'tag:' + tag;
  couchbase.insert(tags, {id: key}, {articles: []});
  couchbase.mutateIn(tags, {id: key}, [couchbase.MutateInSpec.arrayAddUnique('articles', id)]);
}

function remove(tag, id) {
  const key = 'tag:' + tag;
  const list = (tags[key] || {articles: []}).articles.filter(other => other !== id);
  if (list.length > 0) tags[key] = {articles: list};
  else delete tags[key];
}
