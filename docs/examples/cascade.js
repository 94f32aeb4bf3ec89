// When a user goes, so do the user's notes.
function OnDelete(meta, options) {
  const user = meta.id;
  DELETE FROM notes WHERE owner = $user;
}
