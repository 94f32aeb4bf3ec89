// What event functions find beside the language, first part: classes of errors, operations on documents, and how the
// realm is closed once the functions are there. Runs once in a realm. `native` is Go's side (event_natives.go), `global`
// the global object; what it gives back is for Go and for the other parts.
(function (native, global) {
  'use strict';
  const { freeze, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { apply } = Reflect;

  function hide(object, key, value) {
    defineProperty(object, key, { value, writable: true, enumerable: false, configurable: true });
  }

  // errorClass makes a class of errors whose message may be an object, as that of KVError is.
  function errorClass(name) {
    const type = class extends Error {
      constructor(message) {
        if (message === undefined) super();
        else if (message === null || typeof message !== 'object') super(message);
        else {
          super();
          hide(this, 'message', message);
        }
      }
      toString() {
        const message = this.message;
        const text = message !== null && typeof message === 'object' ? JSON.stringify(message) : String(message);
        return text === '' ? String(this.name) : this.name + ': ' + text;
      }
    };
    hide(type, 'name', name);
    hide(type.prototype, 'name', name);
    hide(global, name, type);
    return type;
  }

  const classes = { TypeError };
  for (const name of ['KVError', 'N1QLError', 'EventingError', 'CurlError']) classes[name] = errorClass(name);

  const makeError = (name, message) => new (classes[name] || classes.EventingError)(message);

  // provide makes functions that count their calls and failures for the line that calls them. (A spread would iterate.)
  function provide(into, name, failures, run) {
    const f = { [name](...args) {
      native.enter();
      let done = false;
      try {
        const result = apply(run, undefined, args);
        done = true;
        return result;
      } finally {
        if (!done && failures) native.count(failures);
        native.leave(done);
      }
    } }[name];
    hide(into, name, freeze(f));
  }

  // Documents

  const aliases = new Map(native.aliases.map((alias, i) => [alias, i]));
  const noValue = (v) => v === undefined || typeof v === 'function' || typeof v === 'symbol';

  // place checks the arguments that all operations have: the binding, and which document is meant. What it looks at in
  // meta is what event_use.go says it does.
  function place(op, least, args) {
    const wrong = (what) => new TypeError('couchbase.' + op + ': ' + what);
    if (args.length < least) throw wrong('needs at least ' + least + ' arguments, got ' + args.length);
    const binding = aliases.get(args[0]);
    if (binding === undefined) throw wrong('the first argument must be a bucket binding');
    const meta = args[1];
    if (meta === null || typeof meta !== 'object') throw wrong('the second argument must be an object with the id');
    if (typeof meta.id !== 'string' || meta.id === '') throw wrong('the id must be a string that is not empty');
    if (meta.cas !== undefined && typeof meta.cas !== 'string') throw wrong('cas must be a string');
    const date = meta.expiry_date;
    if (date !== undefined && (!(date instanceof Date) || Number.isNaN(date.getTime()))) {
      throw wrong('expiry_date must be a Date');
    }
    return { binding, id: meta.id, cas: meta.cas, expiry: date === undefined ? 0 : Math.max(1, date.getTime()) };
  }

  const failure = (code, name, desc, flag) => ({ success: false, error: { code, name, desc, [flag]: true } });
  const keyNotFound = () =>
    failure(1, 'LCB_KEY_ENOENT', 'The document key does not exist on the server', 'key_not_found');
  const keyExists = () =>
    failure(2, 'LCB_KEY_EEXISTS', 'The document key already exists in the server.', 'key_already_exists');
  const notNumber = () =>
    failure(6, 'LCB_DELTA_BADVAL', 'The value in the server is not a valid number', 'not_number');
  function casMismatch() {
    native.count('bkt_ops_cas_mismatch_count');
    return failure(2, 'LCB_KEY_EEXISTS', 'The document key exists with a CAS value different than specified',
      'cas_mismatch');
  }

  // The cas of what was written is a function that asks for it (casOf): it is asked for when somebody looks.
  const known = (cas) => (typeof cas === 'function' ? cas() : cas);

  function success(id, cas, expiry, more) {
    const meta = { id, cas };
    if (typeof cas === 'function') {
      let held = cas;
      defineProperty(meta, 'cas', {
        get() { return held === cas ? cas() : held; },
        set(v) { held = v; },
        enumerable: true,
        configurable: true,
      });
    }
    if (expiry > 0) meta.expiry_date = new Date(expiry);
    return Object.assign({ success: true, meta }, more);
  }

  // existing gives what is known of the document, or the failure that the operation ends with.
  function existing(at) {
    const found = native.stat(at.binding, at.id);
    if (found === undefined) return { refused: keyNotFound() };
    if (at.cas !== undefined && at.cas !== known(found.cas)) return { refused: casMismatch() };
    return found;
  }

  function checkDoc(op, doc) {
    if (noValue(doc)) throw new TypeError('couchbase.' + op + ': the document must be a value that JSON has');
  }

  const recursive = (options) => options !== undefined && options !== null && options.self_recursion === true;

  function write(at, doc, expiry, options, more) {
    const cas = native.write(at.binding, at.id, doc, expiry, recursive(options));
    return success(at.id, cas, expiry, more);
  }

  // A counter is the member count of a document, which is made where there is none. A document that is a number is one,
  // too, which Couchbase does not have.
  function counted(at, delta) {
    const found = native.stat(at.binding, at.id);
    const expiry = at.expiry || (found === undefined ? 0 : found.expiry);
    const { why, cas, count } = native.addTo(at.binding, at.id, delta, expiry);
    return why ? notNumber() : success(at.id, cas, expiry, { doc: { count } });
  }

  const operations = {
    get: [2, (at) => {
      const found = native.stat(at.binding, at.id);
      if (found === undefined) return keyNotFound();
      const result = success(at.id, found.cas, found.expiry, { doc: native.value(at.binding, at.id) });
      result.meta.datatype = found.datatype;
      return result;
    }],
    insert: [3, (at, doc, options) => {
      checkDoc('insert', doc);
      if (native.stat(at.binding, at.id) !== undefined) return keyExists();
      return write(at, doc, at.expiry, options);
    }],
    upsert: [3, (at, doc, options) => {
      checkDoc('upsert', doc);
      return write(at, doc, at.expiry, options);
    }],
    replace: [3, (at, doc, options) => {
      checkDoc('replace', doc);
      const { refused } = existing(at);
      return refused || write(at, doc, at.expiry, options);
    }],
    delete: [2, (at) => {
      const { refused, cas } = existing(at);
      if (refused) return refused;
      native.remove(at.binding, at.id);
      return success(at.id, cas, 0);
    }],
    increment: [2, (at) => counted(at, 1)],
    decrement: [2, (at) => counted(at, -1)],
    touch: [2, (at) => {
      const { refused } = existing(at);
      return refused || success(at.id, native.touch(at.binding, at.id, at.expiry), at.expiry);
    }],
  };

  const couchbase = {};
  const readers = ['get', 'lookupIn'];
  function addOperation(name, least, run) {
    provide(couchbase, name, 'bucket_op_exception_count', (...args) => {
      const at = place(name, least, args);
      if (!readers.includes(name)) native.checkWritable(at.binding, name === 'delete');
      return run(at, args[2], args[3]);
    });
  }
  for (const name of Object.keys(operations)) addOperation(name, ...operations[name]);
  for (const [into, by, name] of [
    [couchbase, 'couchbase.', 'analyticsQuery'], [couchbase, 'couchbase.', 'searchQuery'], [global, '', 'ANALYTICS'],
  ]) {
    provide(into, name, '', () => {
      throw new classes.EventingError(by + name + ' is not supported: there is no such service');
    });
  }

  // Closing

  function refuseCode() {
    throw new EvalError('Code generation from strings is disallowed for this context');
  }

  // removeCode takes away what makes code of strings, and what needs an event loop.
  function removeCode() {
    const stub = function Function() { refuseCode(); };
    defineProperty(stub, 'prototype', { value: Function.prototype });
    for (const f of [function () {}, function* () {}, async function () {}]) {
      hide(getPrototypeOf(f), 'constructor', stub);
    }
    hide(global, 'Function', stub);
    for (const name of ['eval', 'Promise', 'GoError']) delete global[name];
  }

  // freezeAll reports whether a value cannot be changed any more: dates and functions can.
  function freezeAll(value) {
    if (value === null || typeof value !== 'object') return typeof value !== 'function';
    if (Object.isFrozen(value)) return true;
    const proto = getPrototypeOf(value);
    freeze(value);
    return Reflect.ownKeys(value).map((key) => freezeAll(value[key])).every((done) => done) &&
      (proto === Object.prototype || proto === Array.prototype);
  }

  function constant(name, value) {
    hide(global, name, value);
    return freezeAll(value);
  }

  // allowOverride keeps that an object may get a member of a name that its frozen prototype has: `error.name = …`. An
  // assignment of that kind fails where the prototype's member cannot be written, so the member becomes a setter.
  function allowOverride(proto) {
    for (const key of Reflect.ownKeys(proto)) {
      const member = getOwnPropertyDescriptor(proto, key);
      if (!('value' in member) || typeof key === 'symbol') continue;
      const { value } = member;
      defineProperty(proto, key, {
        get() { return value; },
        set(v) {
          if (this === proto) throw new TypeError("Cannot assign to read only property '" + key + "'");
          defineProperty(this, key, { value: v, writable: true, enumerable: true, configurable: true });
        },
        enumerable: member.enumerable,
        configurable: false,
      });
    }
  }

  // freezeWith freezes an object with the functions that are its members.
  function freezeWith(object) {
    freeze(object);
    for (const key of Reflect.ownKeys(object)) {
      const { value, get } = getOwnPropertyDescriptor(object, key);
      const f = typeof value === 'function' ? value : get;
      if (f !== undefined) freeze(f);
    }
  }

  function intrinsics() {
    const found = [];
    for (const make of [
      () => [][Symbol.iterator](), () => ''[Symbol.iterator](), () => new Map()[Symbol.iterator](),
      () => new Set()[Symbol.iterator](), () => ''.matchAll(/a/g), () => (function* () {})(),
    ]) {
      const proto = getPrototypeOf(make());
      found.push(proto, getPrototypeOf(proto));
    }
    for (const f of [function* () {}, async function () {}]) found.push(getPrototypeOf(f));
    found.push(getPrototypeOf(Int8Array), getPrototypeOf(Int8Array).prototype);
    return found;
  }

  // close freezes all that outlives an invocation, so that nothing passes from one to the next. The names are those of
  // the user's functions, whose prototypes stay open if open is set. A strict program cannot make globals; that of
  // others is found out after each invocation.
  function close(names, open, strict) {
    for (const name of names) {
      const f = global[name];
      freeze(f);
      if (f.prototype && !open) freeze(f.prototype);
    }
    for (const error of Object.values(classes).concat(Error, RangeError, ReferenceError, SyntaxError, URIError, EvalError)) {
      allowOverride(error.prototype);
    }
    allowOverride(Object.prototype);
    for (const key of Reflect.ownKeys(global)) {
      const { value } = getOwnPropertyDescriptor(global, key);
      defineProperty(global, key, { writable: false, configurable: false });
      if (value === global || aliases.has(value) || names.includes(key)) continue;
      if (value !== null && (typeof value === 'object' || typeof value === 'function')) {
        freezeWith(value);
        if (typeof value === 'function' && value.prototype) freezeWith(value.prototype);
      }
    }
    intrinsics().forEach(freezeWith);
    if (strict) Object.preventExtensions(global);
  }

  removeCode();
  native.aliasNames.forEach((name, i) => hide(global, name, native.aliases[i]));
  hide(global, 'couchbase', couchbase);
  return { classes, makeError, constant, provide, hide, addOperation, couchbase, success, failure, existing, noValue, close,
    recursive, keyNotFound };
})
