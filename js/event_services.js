// What event functions find beside the language, third part: log, timers, queries, curl, checksums and base64.
(function (native, global, realm) {
  'use strict';
  const { classes, provide, hide, couchbase } = realm;
  const { EventingError, N1QLError, CurlError } = classes;

  // show is a value as log prints it; it never throws.
  function show(value) {
    try {
      if (value instanceof Error) return JSON.stringify(String(value));
      const text = JSON.stringify(value);
      return text === undefined ? String(value) : text;
    } catch (e) {
      try {
        return String(value);
      } catch (e2) {
        return '[value]';
      }
    }
  }

  // describe gives the name and the text of an exception.
  function describe(e) {
    try {
      if (!(e instanceof Error)) return ['', show(e)];
      const { name, message } = e;
      return [String(name), typeof message === 'object' ? show(message) : String(message)];
    } catch (e2) {
      return ['Error', 'the exception cannot be shown'];
    }
  }
  realm.describe = describe;

  function log(...args) {
    if (native.logging()) native.log(args.map(show).join(' '));
  }
  hide(global, 'log', Object.freeze(log));
  hide(global, 'console', Object.freeze({ log, info: log, warn: log, error: log, debug: log }));

  // Timers

  function callbackName(by, f) {
    if (typeof f !== 'function' || !native.isFunction(f)) {
      throw new EventingError(by + ': the callback must be a named function of the global scope');
    }
    return f.name;
  }

  function makeTimer(by, callback, due, reference, context) {
    const name = callbackName(by, callback);
    if (Number.isNaN(due)) throw new EventingError(by + ': the date is not valid');
    let key = reference;
    if (key === undefined || key === null) key = native.random();
    else if (typeof key !== 'string') throw new EventingError(by + ': the reference must be a string, null or undefined');
    let text;
    try {
      text = JSON.stringify(context);
    } catch (e) {
      throw new EventingError(by + ': the context cannot be made JSON: ' + e);
    }
    native.createTimer(name, Math.trunc(due), key, text);
    return key;
  }

  const timerFailures = 'timer_create_failure';
  provide(global, 'createTimer', timerFailures, (...args) => {
    if (args.length < 3) throw new EventingError('createTimer: needs a callback, a date, a reference and a context');
    const [callback, date, reference, context] = args;
    if (!(date instanceof Date)) throw new EventingError('createTimer: the second argument must be a Date');
    return makeTimer('createTimer', callback, date.getTime(), reference, context);
  });

  provide(global, 'cancelTimer', '', (...args) => {
    if (args.length < 2) throw new EventingError('cancelTimer: needs a callback and a reference');
    const name = callbackName('cancelTimer', args[0]);
    if (typeof args[1] !== 'string') throw new EventingError('cancelTimer: the reference must be a string');
    return native.cancelTimer(name, args[1]);
  });

  // The functions of old versions take seconds since 1970, docTimer also in place of the id.
  function seconds(by, value) {
    const n = typeof value === 'number' ? value : NaN;
    if (!Number.isFinite(n)) throw new EventingError(by + ': the time must be a number of seconds');
    return n * 1000;
  }
  provide(global, 'docTimer', timerFailures, (callback, first, second) => {
    const [id, time] = typeof first === 'number' ? [second, first] : [first, second];
    if (typeof id !== 'string') throw new EventingError('docTimer: the id of the document must be a string');
    return makeTimer('docTimer', callback, seconds('docTimer', time), id, id);
  });
  provide(global, 'nonDocTimer', timerFailures, (callback, time) =>
    makeTimer('nonDocTimer', callback, seconds('nonDocTimer', time), null, undefined));
  provide(global, 'cronTimer', timerFailures, (callback, time, context) =>
    makeTimer('cronTimer', callback, seconds('cronTimer', time), null, context));

  // Queries

  const reads = /^[\s(]*(select|with)\b/i;

  function json(what, value, kinds) {
    if (value === undefined || value === null) return '';
    if (typeof value !== 'object') throw new N1QLError(what + ' must be ' + kinds);
    return JSON.stringify(value);
  }

  // N1qlQuery is a statement and its rows. What a program makes itself may run again and again; what stands for a
  // statement in the program runs once: after its end it has no rows.
  class N1qlQuery {
    #text;
    #params;
    #options;
    #again;
    #state = 'new'; // open, ended
    #handle = 0;
    #rows = [];
    #at = 0;
    #more = false; // rows are left at the host
    #stopped = false;
    #tag;

    constructor(statement, options, params, once) {
      if (typeof statement !== 'string') throw new N1QLError('the statement must be a string');
      let given = options;
      if (given !== undefined && given !== null && typeof given.prepare === 'boolean') {
        given = Object.assign({ isPrepared: given.prepare }, given);
        delete given.prepare;
      }
      let values = params;
      if (values === undefined && given) { // the form of before version 6.5
        values = given.namedParams === undefined ? given.posParams : given.namedParams;
      }
      this.#text = statement;
      this.#params = json('the parameters', values, 'an object or an array');
      this.#options = json('the options', given, 'an object');
      this.#again = once !== begin;
    }

    get query() { return this.#text; }

    static begin(query) {
      if (reads.test(query.#text)) native.checkQuery(query.#text, query.#params, query.#options);
      else query.#start();
      return query;
    }

    #start() {
      this.#state = 'ended'; // unless all goes well
      this.#rows = [];
      this.#at = 0;
      this.#stopped = false;
      this.#tag = undefined;
      this.#handle = native.query(this.#text, this.#params, this.#options);
      this.#fetch();
      this.#state = 'open';
    }

    #fetch() {
      this.#more = false;
      const page = native.rows(this.#handle);
      this.#rows = page.rows;
      this.#at = 0;
      this.#more = !page.done;
    }

    #restart() {
      if (this.#state === 'new' || (this.#state === 'ended' && this.#again)) this.#start();
    }

    [Symbol.iterator]() {
      if (this.#state === 'ended' && this.#again) this.#state = 'new';
      return this;
    }

    next() {
      if (this.#state === 'new') this.#start();
      if (this.#state === 'open') {
        while (this.#at === this.#rows.length && this.#more) {
          try {
            this.#fetch();
          } catch (e) {
            this.close();
            throw e;
          }
        }
        if (this.#at < this.#rows.length) return { done: false, value: this.#rows[this.#at++] };
        this.close();
      }
      return { done: true, value: undefined };
    }

    return(value) {
      this.close();
      return { done: true, value };
    }

    close() {
      const open = this.#more;
      this.#state = 'ended';
      this.#more = false;
      this.#rows = [];
      this.#at = 0;
      if (open) native.closeQuery(this.#handle);
    }

    execQuery() {
      this.#restart();
      const all = [];
      for (let row = this.next(); !row.done; row = this.next()) all.push(row.value);
      return all;
    }

    iter(callback) {
      if (typeof callback !== 'function') throw new EventingError('iter: the argument must be a function');
      this.#restart();
      this.#stopped = false;
      this.#tag = undefined;
      try {
        for (let row = this.next(); !row.done && !this.#stopped; row = this.next()) {
          callback(row.value);
          if (this.#stopped) break;
        }
      } finally {
        this.close();
      }
      if (!this.#stopped) return 1;
      return this.#tag === undefined ? 0 : this.#tag;
    }

    stopIter(tag) {
      this.#stopped = true;
      this.#tag = tag;
      return tag;
    }
  }
  const { begin } = N1qlQuery;
  delete N1qlQuery.begin;

  function n1qlQuery(statement, params, options) {
    return begin(new N1qlQuery(statement, options, params, begin));
  }
  provide(couchbase, 'n1qlQuery', '', n1qlQuery);
  provide(global, 'N1QL', '', n1qlQuery);
  hide(global, 'N1qlQuery', N1qlQuery);

  // curl

  const urls = new Map();
  native.urls.forEach((name, i) => {
    const url = Object.freeze({});
    urls.set(url, i);
    hide(global, name, url);
  });
  const methods = ['GET', 'POST', 'PUT', 'HEAD', 'DELETE'];
  const encodings = ['FORM', 'JSON', 'TEXT', 'BINARY'];

  const form = (object) => Object.keys(object)
    .map((k) => encodeURIComponent(k) + '=' + encodeURIComponent(member('body', k, object[k]))).join('&');

  function scalar(where, name, value) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
    throw new CurlError('the member ' + name + ' of ' + where + ' must be a string, a number or a boolean');
  }

  // member is the text of a parameter; arrays and objects are JSON.
  function member(where, name, value) {
    return value !== null && typeof value === 'object' ? JSON.stringify(value) : scalar(where, name, value);
  }

  function pairs(where, object, convert) {
    if (object === undefined) return [];
    if (object === null || typeof object !== 'object') throw new CurlError("'" + where + "' should be an object");
    return Object.keys(object).map((name) => [name, convert(where, name, object[name])]);
  }

  // query takes a text apart that is a query of a URL already, as far as it is encoded.
  function query(text) {
    const plain = (part) => {
      try {
        return decodeURIComponent(part);
      } catch (e) {
        return part;
      }
    };
    return text.split('&').filter((pair) => pair !== '').map((pair) => {
      const [name, ...value] = pair.split('=');
      return [plain(name), plain(value.join('='))];
    });
  }

  const isRecord = (v) => v !== null && typeof v === 'object' && !Array.isArray(v) && !(v instanceof ArrayBuffer);

  // content gives what is sent of a body, and its type.
  function content(body, encoding) {
    if (encoding !== undefined && !encodings.includes(encoding)) {
      throw new CurlError("'encoding' should be one of FORM, JSON, TEXT, BINARY");
    }
    const forbidden = () => new CurlError('the body cannot be encoded as ' + encoding);
    if (body === undefined) return [undefined, ''];
    if (typeof body === 'string') {
      if (encoding === 'FORM') return [body, 'application/x-www-form-urlencoded'];
      if (encoding === 'JSON') return [JSON.stringify(body), 'application/json'];
      return [body, encoding === 'BINARY' ? 'application/octet-stream' : 'text/plain'];
    }
    if (body instanceof ArrayBuffer) {
      if (encoding !== undefined && encoding !== 'BINARY') throw forbidden();
      return [body, 'application/octet-stream'];
    }
    if (encoding === 'TEXT' || encoding === 'BINARY') throw forbidden();
    if (encoding === 'FORM') {
      if (body === null || typeof body !== 'object') throw forbidden();
      return [form(body), 'application/x-www-form-urlencoded'];
    }
    const encoded = JSON.stringify(body);
    if (encoded === undefined) throw new CurlError("'body' should be a string, an object or an ArrayBuffer");
    return [encoded, 'application/json'];
  }

  provide(global, 'curl', '', (...args) => {
    const [method, url, request = {}] = args;
    try {
      if (typeof method !== 'string' || !methods.includes(method)) {
        throw new CurlError('the method should be one of ' + methods.join(', '));
      }
      const binding = urls.get(url);
      if (binding === undefined) throw new CurlError('the second argument should be a URL binding');
      if (request === null || typeof request !== 'object') throw new CurlError('the request should be an object');
      const { path = '', redirect = true, timeout } = request;
      if (typeof path !== 'string') throw new CurlError("'path' should be a string");
      if (typeof redirect !== 'boolean') throw new CurlError("'redirect' should be a boolean");
      if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0 && Number.isFinite(timeout))) {
        throw new CurlError("'timeout' should be a positive integer");
      }
      const headers = pairs('headers', request.headers, scalar);
      const params = typeof request.params === 'string' ? query(request.params)
        : pairs('params', request.params, member);
      const [body, type] = content(request.body, request.encoding);
      if (type !== '' && !headers.some(([name]) => name.toLowerCase() === 'content-type')) {
        headers.push(['Content-Type', type]);
      }
      native.count('curl_' + method.toLowerCase());
      return native.curl(binding, method, path, params, headers, body, redirect, (timeout || 0) * 1000);
    } catch (e) {
      if (e instanceof TypeError) throw new CurlError(e.message);
      throw e;
    }
  });

  // Publishing

  const isHeader = (name) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
  const hasControls = (text) => /[\u0000-\u001f\u007f]/.test(text);

  // published makes JSON of a message: what is sent, its type and its headers.
  function published(value, headers) {
    const wrong = (what) => new EventingError('publish: ' + what);
    if (typeof headers !== 'object' || headers === null) throw wrong('headers must be an object');
    const list = Object.keys(headers).map((name) => {
      const text = headers[name];
      if (!isHeader(name) || typeof text !== 'string' || hasControls(text)) {
        throw wrong('the header ' + name + ' must be a string without control characters');
      }
      if (name.toLowerCase() === 'idempotency-key') throw wrong("the header Idempotency-Key is the option 'id'");
      return [name, text];
    });
    const bytes = value instanceof ArrayBuffer;
    let [body, type] = [value, bytes ? 'application/octet-stream' : 'text/plain'];
    if (!bytes && typeof value !== 'string') [body, type] = [JSON.stringify(value), 'application/json'];
    if (body === undefined) throw wrong('a value is missing');
    if (!list.some(([name]) => name.toLowerCase() === 'content-type')) list.push(['Content-Type', type]);
    return JSON.stringify({ headers: list, text: bytes ? '' : body, base64: bytes ? native.encode64(body) : '' });
  }

  // An alias or a URL may have the name.
  if (global.publish === undefined) {
    provide(global, 'publish', 'publish_failure', (destination, value, options) => {
      const wrong = (what) => new EventingError('publish: ' + what);
      const { id = '', headers = {} } = options === undefined || options === null ? {} : options;
      if (typeof id !== 'string' || id.length > 512 || hasControls(id)) {
        throw wrong('the id must be a string of at most 512 characters');
      }
      let message;
      let name;
      if (urls.has(destination)) {
        name = native.urls[urls.get(destination)];
        message = published(value, headers);
      } else {
        const binding = native.aliases.indexOf(destination);
        if (binding < 0) throw wrong('the first argument must be a URL or bucket binding');
        native.checkWritable(binding, false);
        if (!isRecord(value)) throw wrong('a message to a bucket must be an object');
        const { _id, _rev, ...doc } = value;
        name = native.aliasNames[binding];
        message = published(doc, {});
      }
      if (message.length > 1 << 20) throw wrong('a message may have at most 1 MB');
      native.publish(name, id, message);
    });
  }

  // answer makes JSON of what OnRequest returns (EventResult.Answer). A function that returns nothing answers 204.
  realm.answer = (value) => {
    const wrong = (what) => new EventingError('OnRequest: ' + what);
    if (value === undefined) return '{"status":204,"headers":[],"type":"","text":"","base64":""}';
    if (!isRecord(value)) throw wrong('the answer must be an object with status, headers and body');
    const { status = 200, headers = {}, body } = value;
    if (!Number.isInteger(status) || status < 200 || status > 599) throw wrong('status must be from 200 to 599');
    if (!isRecord(headers)) throw wrong('headers must be an object');
    const list = Object.keys(headers).map((name) => {
      if (typeof headers[name] !== 'string') throw wrong('the header ' + name + ' must be a string');
      return [name, headers[name]];
    });
    const made = { status, headers: list, type: '', text: '', base64: '' };
    if (body instanceof ArrayBuffer) {
      made.type = 'application/octet-stream';
      made.base64 = native.encode64(body);
    } else if (typeof body === 'string') {
      made.type = 'text/plain; charset=utf-8';
      made.text = body;
    } else if (body !== undefined) {
      made.type = 'application/json';
      made.text = JSON.stringify(body);
      if (made.text === undefined) throw wrong('the body must be a string, an ArrayBuffer or a value that JSON has');
    }
    return JSON.stringify(made);
  };

  // Checksums and base64

  function one(name, args) {
    if (args.length !== 1) throw new EventingError(name + ': needs one argument');
    return args[0];
  }
  const bytes = (value) => value instanceof ArrayBuffer ? value : String(JSON.stringify(value));

  provide(global, 'crc64', '', (...args) => native.crc64(bytes(one('crc64', args))));
  provide(couchbase, 'crc_64_go_iso', '', (...args) => {
    const value = one('couchbase.crc_64_go_iso', args);
    return native.crc64(typeof value === 'string' ? value : bytes(value));
  });

  const encode = (...args) => {
    const value = one('couchbase.base64Encode', args);
    return native.encode64(typeof value === 'string' ? value : bytes(value));
  };
  const decode = (name, args) => {
    const value = one(name, args);
    if (typeof value !== 'string') throw new EventingError(name + ': the argument must be a string');
    return native.decode64(value, name !== 'couchbase.base64Decode');
  };
  for (const into of [couchbase, global]) { // examples of Couchbase have them without the prefix
    provide(into, 'base64Encode', '', encode);
    provide(into, 'base64Decode', '', (...args) => decode('couchbase.base64Decode', args));
  }

  // Arrays of numbers are little-endian, whatever the machine is.
  for (const [bits, size] of [['Float32', 4], ['Float64', 8]]) {
    const encodeName = 'base64' + bits + 'ArrayEncode';
    const encodeAll = (...args) => {
      const list = one('couchbase.' + encodeName, args);
      if (!Array.isArray(list) || !list.every((n) => typeof n === 'number')) {
        throw new EventingError('couchbase.' + encodeName + ': the argument must be an array of numbers');
      }
      const view = new DataView(new ArrayBuffer(list.length * size));
      list.forEach((n, i) => view['set' + bits](i * size, n, true));
      return native.encode64(view.buffer);
    };
    const decodeName = 'base64' + bits + 'ArrayDecode';
    const decodeAll = (...args) => {
      const buffer = decode('couchbase.' + decodeName, args);
      if (buffer.byteLength % size !== 0) {
        throw new EventingError('couchbase.' + decodeName + ': the length is no multiple of ' + size);
      }
      const view = new DataView(buffer);
      return Array.from({ length: buffer.byteLength / size }, (_, i) => view['get' + bits](i * size, true));
    };
    for (const into of [couchbase, global]) {
      provide(into, encodeName, '', encodeAll);
      provide(into, decodeName, '', decodeAll);
    }
  }

  // Dates and numbers for people, as V8 has them in en-US, whatever language is asked for: there is no Intl. Local time
  // is UTC in workers (worker.go).

  const two = (n) => String(n).padStart(2, '0');

  function clock(date, options) {
    const zone = options === undefined ? undefined : options.timeZone;
    if (zone !== undefined && !/^(etc\/)?(utc|gmt)$/i.test(zone)) {
      throw new RangeError('Invalid time zone specified: ' + zone + ': there is only UTC');
    }
    const hours = date.getHours();
    return {
      day: date.getMonth() + 1 + '/' + date.getDate() + '/' + date.getFullYear(),
      time: (hours % 12 || 12) + ':' + two(date.getMinutes()) + ':' + two(date.getSeconds()) + (hours < 12 ? ' AM' : ' PM'),
    };
  }

  for (const [name, text] of [
    ['toLocaleString', ({ day, time }) => day + ', ' + time],
    ['toLocaleDateString', ({ day }) => day],
    ['toLocaleTimeString', ({ time }) => time],
  ]) {
    hide(Date.prototype, name, { [name](locales, options) {
      return Number.isNaN(Date.prototype.getTime.call(this)) ? 'Invalid Date' : text(clock(this, options));
    } }[name]);
  }

  hide(Number.prototype, 'toLocaleString', { toLocaleString(locales, options = {}) {
    const n = Number.prototype.valueOf.call(this);
    if (!Number.isFinite(n)) return String(n).replace('Infinity', '\u221e');
    const least = options.minimumFractionDigits || 0;
    const { maximumFractionDigits: most = Math.max(least, 3) } = options;
    const [whole, fraction = ''] = Math.abs(n).toFixed(most).split('.');
    let end = fraction.length;
    while (end > least && fraction[end - 1] === '0') end--;
    return (n < 0 ? '-' : '') + whole.replace(/\B(?=(\d{3})+$)/g, ',') + (end > 0 ? '.' + fraction.slice(0, end) : '');
  } }.toLocaleString);

  for (const name of ['log', 'curl', 'createTimer', 'cancelTimer', 'crc64']) hide(couchbase, name, global[name]);
  Object.freeze(N1qlQuery.prototype);
  Object.freeze(couchbase);
})
