function (doc, old, user, security) {
  function refuse(why) { throw {forbidden: why}; }
  function has(list, item) { return !!list && list.indexOf(item) >= 0; }

  var serverAdmin = has(user.roles, "_admin");
  if (doc._deleted === true) {
    if (!serverAdmin && !(old && user.name !== null && user.name === old.name)) refuse("Only admins may delete other user docs.");
    return;
  }

  if (doc.type !== "user") refuse("doc.type must be user");
  if (!doc.name) refuse("doc.name is required");
  if (!doc.roles) refuse("doc.roles must exist");
  if (!isArray(doc.roles)) refuse("doc.roles must be an array");
  doc.roles.forEach(function (role) { if (typeof role !== "string") refuse("doc.roles can only contain strings"); });
  if (doc._id !== "org.couchdb.user:" + doc.name) refuse("Doc ID must be of the form org.couchdb.user:name");
  if (old && old.name !== doc.name) refuse("Usernames can not be changed.");

  if (doc.password_sha && !doc.salt) refuse("Users with password_sha must have a salt.See /_utils/script/couch.js for example code.");
  var scheme = doc.password_scheme;
  if (scheme && !has(["simple", "pbkdf2", "simple+pbkdf2"], scheme)) refuse("Password scheme `" + scheme + "` not supported.");
  if (scheme === "pbkdf2") {
    if (typeof doc.iterations !== "number") refuse("iterations must be a number.");
    if (typeof doc.derived_key !== "string") refuse("derived_key must be a string.");
  }

  var admins = (security && security.admins) || {};
  var admin = serverAdmin || has(admins.names, user.name) || user.roles.some(function (role) { return has(admins.roles, role); });
  if (!admin && old) {
    if (user.name !== doc.name) refuse("You may only update your own user document.");
    var before = (old.roles || []).slice().sort().join("\n");
    if (doc.roles.slice().sort().join("\n") !== before) refuse("Only _admin may edit roles");
  } else if (!admin && doc.roles.length > 0) {
    refuse("Only _admin may set roles");
  }

  doc.roles.forEach(function (role) {
    if (role !== "_metrics" && role.charAt(0) === "_") refuse("No system roles (starting with underscore) in users db.");
  });
  if (doc.name.charAt(0) === "_") refuse("Username may not start with underscore.");
  if (doc.name.indexOf(":") >= 0) refuse("Character `:` is not allowed in usernames.");
}
