// What event functions find beside the language, second part: operations on parts of documents. Go has the paths and
// the operations (event_parts.go); here are their arguments and results.
(function (native, global, realm) {
  'use strict';
  const { failure, noValue, couchbase, classes } = realm;
  const most = 1000; // specs at once

  // What is wrong with the operation itself is no result.
  function fail(code, name, desc) {
    native.count('kv_error_' + code);
    throw new classes.KVError({ code, name, desc });
  }

  // refused gives the failure of an operation, by what Go calls it.
  function refused(why) {
    switch (why) {
      case 'not found':
        return failure(192, 'LCB_ERR_SUBDOC_PATH_NOT_FOUND', 'The document path does not exist', 'field_not_found');
      case 'exists':
        return failure(201, 'LCB_ERR_SUBDOC_PATH_EXISTS', 'The document path already exist', 'field_already_exists');
      case 'mismatch':
        return fail(193, 'LCB_ERR_SUBDOC_PATH_MISMATCH',
          'The document has a value of another kind where the path leads');
    }
    return fail(194, 'LCB_ERR_SUBDOC_PATH_INVALID', 'The path is not valid for the operation');
  }

  // Specs are made by the functions below and by nothing else.
  const mutations = new WeakSet();
  const lookups = new WeakSet();

  function options(of, given) {
    if (given === undefined || given === null) return {};
    if (typeof given !== 'object') throw new TypeError(of + ': the options must be an object');
    if (given.xattrs) throw new TypeError(of + ': documents have no extended attributes here');
    return given;
  }

  function checkPath(of, path) {
    if (typeof path !== 'string') throw new TypeError(of + ': the path must be a string');
  }

  const MutateInSpec = {};
  for (const op of ['insert', 'upsert', 'replace', 'remove', 'arrayAppend', 'arrayPrepend', 'arrayInsert',
    'arrayAddUnique']) {
    const of = 'MutateInSpec.' + op;
    realm.hide(MutateInSpec, op, Object.freeze({ [op](path, ...rest) {
      checkPath(of, path);
      const value = op === 'remove' ? null : rest.shift();
      if (noValue(value)) throw new TypeError(of + ': the value must be one that JSON has');
      const spec = Object.freeze({ op, path, value, create_path: options(of, rest[0]).create_path === true });
      mutations.add(spec);
      return spec;
    } }[op]));
  }

  const LookupInSpec = {};
  realm.hide(LookupInSpec, 'get', Object.freeze({ get(path, given) {
    checkPath('LookupInSpec.get', path);
    options('LookupInSpec.get', given);
    const spec = Object.freeze({ op: 'get', path });
    lookups.add(spec);
    return spec;
  } }.get));

  // taken gives an array of specs as they are now: what the caller has may be another one at each look.
  function taken(op, specs, made, by) {
    const wrong = (what) => new TypeError('couchbase.' + op + ': the third argument must be an array of ' + what);
    if (!Array.isArray(specs)) throw wrong('what ' + by + ' makes');
    const { length } = specs;
    if (length > most) throw wrong('at most ' + most + ' specs');
    const list = [];
    for (let i = 0; i < length; i++) {
      const spec = specs[i];
      if (!made.has(spec)) throw wrong('what ' + by + ' makes');
      list.push(spec);
    }
    return list;
  }

  realm.addOperation('mutateIn', 3, (at, given, last) => {
    const specs = taken('mutateIn', given, mutations, 'couchbase.MutateInSpec');
    const found = realm.existing(at);
    if (found.refused) return found.refused;
    if (specs.length === 0) return realm.success(at.id, found.cas, found.expiry);
    const expiry = at.expiry || found.expiry;
    const { why, cas } = native.mutate(at.binding, at.id, specs, expiry, realm.recursive(last));
    return why ? refused(why) : realm.success(at.id, cas, expiry);
  });

  realm.addOperation('lookupIn', 3, (at, given) => {
    const specs = taken('lookupIn', given, lookups, 'couchbase.LookupInSpec');
    const found = native.stat(at.binding, at.id);
    if (found === undefined) return realm.keyNotFound();
    return realm.success(at.id, found.cas, found.expiry, { doc: native.lookup(at.binding, at.id, specs) });
  });

  realm.hide(couchbase, 'MutateInSpec', Object.freeze(MutateInSpec));
  realm.hide(couchbase, 'LookupInSpec', Object.freeze(LookupInSpec));
})
