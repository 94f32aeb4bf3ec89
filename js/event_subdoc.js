// What event functions find beside the language, second part: operations on parts of documents. A path is names with
// dots between them and positions in brackets, `a.b[0].c`; [-1] is the last one; a name in backticks may have any
// character.
(function (native, global, realm) {
  'use strict';
  const { failure, noValue, isRecord, couchbase, classes } = realm;
  const missing = Symbol('missing');
  const mismatch = Symbol('mismatch');
  const deepest = 32;

  const notFound = () => failure(192, 'LCB_ERR_SUBDOC_PATH_NOT_FOUND', 'The document path does not exist',
    'field_not_found');
  const exists = () => failure(201, 'LCB_ERR_SUBDOC_PATH_EXISTS', 'The document path already exist',
    'field_already_exists');

  // What is wrong with the operation itself is no result.
  function fail(code, name, desc) {
    native.count('kv_error_' + code);
    throw new classes.KVError({ code, name, desc });
  }
  const wrongKind = () => fail(193, 'LCB_ERR_SUBDOC_PATH_MISMATCH',
    'The document has a value of another kind where the path leads');
  const invalid = () => fail(194, 'LCB_ERR_SUBDOC_PATH_INVALID', 'The path is not valid for the operation');

  // parse gives the steps of a path, names and numbers; undefined for what is none.
  function parse(path) {
    const steps = [];
    let at = 0;
    while (at < path.length) {
      const step = path[at] === '[' ? position(path, at) : name(path, at);
      if (step === undefined) return undefined;
      steps.push(step.key);
      at = step.end;
      if (at === path.length || path[at] === '[') continue;
      if (path[at] !== '.' || at + 1 === path.length || path[at + 1] === '[') return undefined;
      at++;
    }
    return steps.length > deepest ? undefined : steps;
  }

  function position(path, at) {
    const end = path.indexOf(']', at);
    const text = end < 0 ? '' : path.slice(at + 1, end);
    return /^(0|[1-9][0-9]{0,8}|-1)$/.test(text) ? { key: Number(text), end: end + 1 } : undefined;
  }

  function name(path, at) {
    let key = '';
    let quoted = false;
    for (; at < path.length && path[at] !== '.' && path[at] !== '['; at++) {
      if (path[at] === ']') return undefined;
      if (path[at] !== '`') {
        key += path[at];
        continue;
      }
      quoted = true;
      for (at++; ; at++) {
        if (at >= path.length) return undefined;
        if (path[at] === '`') {
          if (path[at + 1] !== '`') break;
          at++;
        }
        key += path[at];
      }
    }
    return key === '' && !quoted ? undefined : { key, end: at };
  }

  function child(value, key) {
    if (typeof key === 'number') {
      if (!Array.isArray(value)) return mismatch;
      const at = key < 0 ? value.length - 1 : key;
      return at >= 0 && at < value.length ? value[at] : missing;
    }
    if (!isRecord(value)) return mismatch;
    return Object.prototype.hasOwnProperty.call(value, key) ? value[key] : missing;
  }

  function put(parent, key, value) {
    if (typeof key === 'number') parent[key < 0 ? parent.length - 1 : key] = value;
    else Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true });
  }

  // add puts a value at one end of an array, or anywhere if it is not there yet.
  function add(list, op, value) {
    if (!Array.isArray(list)) return wrongKind();
    if (op === 'arrayPrepend') list.unshift(value);
    else if (op === 'arrayAppend') list.push(value);
    else {
      if (list.concat([value]).some((v) => v !== null && typeof v === 'object')) return wrongKind();
      if (list.includes(value)) return exists();
      list.push(value);
    }
    return undefined;
  }

  // change does what a spec says to the document in holder[''], and gives the failure if it cannot.
  function change(holder, spec) {
    const { op, value } = spec;
    const steps = parse(spec.path);
    const array = op === 'arrayAppend' || op === 'arrayPrepend' || op === 'arrayAddUnique';
    if (steps === undefined || (steps.length === 0 && !array)) return invalid();
    steps.unshift('');
    const last = steps.pop();
    const creates = spec.create_path && op !== 'replace' && op !== 'remove' && op !== 'arrayInsert';
    let parent = holder;
    for (let i = 0; i < steps.length; i++) {
      let next = child(parent, steps[i]);
      if (next === missing) {
        if (!creates || typeof steps[i] === 'number') return notFound();
        next = {};
        put(parent, steps[i], next);
      }
      if (next === mismatch) return wrongKind();
      parent = next;
    }
    const found = child(parent, last);
    if (found === mismatch) return wrongKind();
    if (array) {
      if (found !== missing) return add(found, op, value);
      if (!creates || typeof last === 'number') return notFound();
      put(parent, last, []);
      return add(parent[last], op, value);
    }
    return changeMember(op, parent, last, found, value);
  }

  function changeMember(op, parent, last, found, value) {
    const at = typeof last === 'number';
    switch (op) {
      case 'insert':
        if (at) return wrongKind();
        if (found !== missing) return exists();
        break;
      case 'arrayInsert':
        if (!at || last < 0) return invalid();
        if (last > parent.length) return notFound();
        parent.splice(last, 0, value);
        return undefined;
      case 'upsert':
        if (at && found === missing) return notFound();
        break;
      case 'replace':
        if (found === missing) return notFound();
        break;
      case 'remove':
        if (found === missing) return notFound();
        if (at) parent.splice(last, 1);
        else delete parent[last];
        return undefined;
    }
    put(parent, last, value);
    return undefined;
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

  function checkSpecs(op, specs, made, by) {
    if (!Array.isArray(specs) || !specs.every((s) => made.has(s))) {
      throw new TypeError('couchbase.' + op + ': the third argument must be an array of what ' + by + ' makes');
    }
  }

  realm.addOperation('mutateIn', 3, (at, specs, given) => {
    checkSpecs('mutateIn', specs, mutations, 'couchbase.MutateInSpec');
    const found = realm.existing(at);
    if (found.refused) return found.refused;
    if (specs.length === 0) return realm.success(at.id, found.cas, found.expiry);
    const holder = { '': native.value(at.binding, at.id) };
    for (const spec of specs) {
      const failed = change(holder, spec);
      if (failed) return failed;
    }
    const expiry = at.expiry || found.expiry;
    const cas = native.write(at.binding, at.id, holder[''], expiry, realm.recursive(given));
    return realm.success(at.id, cas, expiry);
  });

  realm.addOperation('lookupIn', 3, (at, specs) => {
    checkSpecs('lookupIn', specs, lookups, 'couchbase.LookupInSpec');
    const found = native.stat(at.binding, at.id);
    if (found === undefined) return realm.keyNotFound();
    const value = native.value(at.binding, at.id);
    const doc = specs.map((spec) => {
      const steps = parse(spec.path);
      let v = steps === undefined ? missing : value;
      for (const step of steps || []) v = child(v, step);
      return typeof v === 'symbol' ? { success: false } : { value: v, success: true };
    });
    return realm.success(at.id, found.cas, found.expiry, { doc });
  });

  realm.hide(couchbase, 'MutateInSpec', Object.freeze(MutateInSpec));
  realm.hide(couchbase, 'LookupInSpec', Object.freeze(LookupInSpec));
})
