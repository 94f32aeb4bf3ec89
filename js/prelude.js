// What a realm has beyond the language: the functions of CouchDB's query server, the things that its engine has and goja
// lacks, without those that goja has and its engine lacks. It runs once in each realm, before any source of a user.
// native holds functions of the host, see sandbox.go:natives.
function (native, global) {
    'use strict';
    const {
        create, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, keys,
        preventExtensions, setPrototypeOf
    } = Object;
    const {isArray: isRealArray} = Array;
    const {parse, stringify} = JSON;
    const {ownKeys} = Reflect;
    const toStringOf = Object.prototype.toString;
    const functionText = Function.prototype.toString;
    const has = Object.prototype.hasOwnProperty;
    const call = Function.prototype.call;

    function hide(target, name, value) {
        defineProperty(target, name, {value: value, writable: true, enumerable: false, configurable: true});
    }

    // Puts a constructor in the place of a global one.
    function replace(name, constructor, length) {
        const plain = global[name];
        for (const key of ownKeys(plain)) {
            defineProperty(constructor, key, getOwnPropertyDescriptor(plain, key));
        }
        defineProperty(constructor, 'length', {value: length});
        hide(plain.prototype, 'constructor', constructor);
        hide(global, name, constructor);
    }

    // ---- what SpiderMonkey 78 does not have ----
    function remove(target, names) {
        for (let i = 0; i < names.length; i++) {
            delete target[names[i]];
        }
    }
    remove(global, ['AggregateError', 'GoError', 'WeakRef', 'FinalizationRegistry', 'Iterator', 'console']);
    remove(Array.prototype, ['at', 'findLast', 'findLastIndex', 'toReversed', 'toSorted', 'toSpliced', 'with']);
    remove(String.prototype, ['at', 'isWellFormed', 'toWellFormed']);
    remove(Set.prototype, ['difference', 'intersection', 'isDisjointFrom', 'isSubsetOf', 'isSupersetOf', 'symmetricDifference', 'union']);
    remove(getPrototypeOf(Int8Array.prototype), ['at', 'findLast', 'findLastIndex', 'toReversed', 'toSorted', 'with']);
    remove(Object, ['hasOwn', 'groupBy']);
    remove(Map, ['groupBy']);
    remove(Promise, ['any', 'withResolvers', 'try']);
    remove(JSON, ['rawJSON', 'isRawJSON']);
    remove(Error, ['isError', 'captureStackTrace', 'stackTraceLimit']);

    // ---- code from strings is refused ----
    const code = {
        eval: function () { throw new EvalError('call to eval() blocked by CSP'); },
        Function: function () { throw new EvalError('call to Function() blocked by CSP'); },
        GeneratorFunction: function () { throw new EvalError('call to Function() blocked by CSP'); },
        AsyncFunction: function () { throw new EvalError('call to Function() blocked by CSP'); }
    };
    hide(global, 'eval', code.eval);
    hide(global, 'Function', code.Function);
    for (const [name, sample] of [['Function', function () {}], ['GeneratorFunction', function* () {}], ['AsyncFunction', async function () {}]]) {
        const prototype = getPrototypeOf(sample);
        code[name].prototype = prototype;
        defineProperty(prototype, 'constructor', {value: code[name], configurable: true});
        setPrototypeOf(code[name], name === 'Function' ? prototype : code.Function);
    }

    function functionString() {
        return functionText.call(this).replace(/^(function [\w ]*\(\)) \{ \[native code\] \}$/, '$1 {\n    [native code]\n}');
    }
    hide(Function.prototype, 'toString', {toString() { return functionString.call(this); }}.toString);

    // ---- what goja does not have ----
    hide(global, 'InternalError', class InternalError extends Error {});
    hide(InternalError.prototype, 'name', 'InternalError');
    hide(Object.prototype, '__defineGetter__', function (name, get) { defineProperty(this, name, {get, enumerable: true, configurable: true}); });
    hide(Object.prototype, '__defineSetter__', function (name, set) { defineProperty(this, name, {set, enumerable: true, configurable: true}); });
    hide(Date.prototype, 'getYear', function getYear() { return this.getFullYear() - 1900; });
    hide(Date.prototype, 'setYear', function setYear(year) { return this.setFullYear(year >= 0 && year <= 99 ? +year + 1900 : year); });
    hide(Date.prototype, 'toGMTString', Date.prototype.toUTCString);
    for (const name of ['toString', 'toTimeString']) {
        const plain = Date.prototype[name];
        hide(Date.prototype, name, {[name]() {
            return plain.call(this).replace(/ \(.*\)$/, ' (Coordinated Universal Time)');
        }}[name]);
    }
    const markup = [
        ['anchor', 'a', 'name'], ['big', 'big'], ['blink', 'blink'], ['bold', 'b'], ['fixed', 'tt'], ['fontcolor', 'font', 'color'],
        ['fontsize', 'font', 'size'], ['italics', 'i'], ['link', 'a', 'href'], ['small', 'small'], ['strike', 'strike'], ['sub', 'sub'], ['sup', 'sup']
    ];
    for (let i = 0; i < markup.length; i++) {
        const name = markup[i][0], tag = markup[i][1], attribute = markup[i][2];
        hide(String.prototype, name, {[name](value) {
            const start = attribute ? tag + ' ' + attribute + '="' + String(value).replace(/"/g, '&quot;') + '"' : tag;
            return '<' + start + '>' + this + '</' + tag + '>';
        }}[name]);
    }
    function locale(locales) {
        return String(isRealArray(locales) ? locales[0] || '' : locales === undefined ? '' : locales);
    }
    function text(value) {
        if (value === undefined || value === null) {
            throw new TypeError("can't convert " + value + ' to object');
        }
        return String(value);
    }
    function order(locales, options) {
        const name = locale(locales), numeric = !!(options && options.numeric), sensitivity = options && options.sensitivity || '';
        return function (a, b) { return native.compare(String(a), String(b), name, numeric, sensitivity); };
    }
    hide(String.prototype, 'localeCompare', function localeCompare(that, locales, options) {
        return order(locales, options)(text(this), that);
    });
    hide(String.prototype, 'toLocaleLowerCase', function toLocaleLowerCase(locales) { return native.lower(text(this), locale(locales)); });
    hide(String.prototype, 'toLocaleUpperCase', function toLocaleUpperCase(locales) { return native.upper(text(this), locale(locales)); });
    hide(Number.prototype, 'toLocaleString', function toLocaleString(locales) { return native.number(Number(this), locale(locales)); });
    // Dates are written as in en-US, whatever the locale.
    function dateText(date) { return date.getMonth() + 1 + '/' + date.getDate() + '/' + date.getFullYear(); }
    function timeText(date) {
        const two = function (n) { return n < 10 ? '0' + n : n; };
        return (date.getHours() % 12 || 12) + ':' + two(date.getMinutes()) + ':' + two(date.getSeconds()) + (date.getHours() < 12 ? ' AM' : ' PM');
    }
    function valid(date, write) { return isNaN(date.getTime()) ? 'Invalid Date' : write(date); }
    hide(Date.prototype, 'toLocaleDateString', function toLocaleDateString() { return valid(this, dateText); });
    hide(Date.prototype, 'toLocaleTimeString', function toLocaleTimeString() { return valid(this, timeText); });
    hide(Date.prototype, 'toLocaleString', function toLocaleString() {
        return valid(this, function (date) { return dateText(date) + ', ' + timeText(date); });
    });
    // A small part of Intl; its constructors work without new.
    function Collator(locales, options) {
        const made = create(Collator.prototype);
        made.compare = order(locales, options);
        return made;
    }
    Collator.prototype.resolvedOptions = function () { return {locale: 'en-US', usage: 'sort', sensitivity: 'variant'}; };
    function NumberFormat(locales) {
        const made = create(NumberFormat.prototype), name = locale(locales);
        made.format = function (value) { return native.number(Number(value), name); };
        return made;
    }
    function DateTimeFormat() {
        const made = create(DateTimeFormat.prototype);
        made.format = function (value) { return dateText(value === undefined ? new Date() : new Date(value)); };
        return made;
    }
    DateTimeFormat.prototype.resolvedOptions = function () {
        return {locale: 'en-US', calendar: 'gregory', numberingSystem: 'latn', timeZone: 'UTC'};
    };
    const Intl = {};
    for (const [name, value] of [['Collator', Collator], ['NumberFormat', NumberFormat], ['DateTimeFormat', DateTimeFormat],
        ['getCanonicalLocales', function getCanonicalLocales(list) { return list === undefined ? [] : [].concat(list); }]]) {
        hide(Intl, name, value);
    }
    hide(global, 'Intl', Intl);

    // Dates from texts: goja reads other forms. Years beyond four digits have six, and milliseconds before 1970 count up.
    const PlainDate = Date, plainISO = Date.prototype.toISOString;
    hide(Date.prototype, 'toISOString', function toISOString() {
        return plainISO.call(this).replace(/^([+-])(\d+)/, function (all, sign, year) { return sign + year.padStart(6, '0'); });
    });
    for (const name of ['setMilliseconds', 'setUTCMilliseconds']) {
        hide(Date.prototype, name, {[name](ms) {
            const time = this.getTime();
            return this.setTime(Math.floor(time / 1000) * 1000 + Math.trunc(ms));
        }}[name]);
    }
    // What a Date is made of: a text is read as SpiderMonkey does, that of an array or another object, too.
    const ordinary = Date.prototype[Symbol.toPrimitive];
    function dateValue(value) {
        if (value instanceof PlainDate) {
            return value;
        }
        if (value !== null && (typeof value === 'object' || typeof value === 'function')) {
            const own = value[Symbol.toPrimitive];
            value = own == null ? call.call(ordinary, value, 'number') : call.call(own, value, 'default');
        }
        return typeof value === 'string' ? native.date(value) : value;
    }
    function DateOf(...args) {
        if (new.target === undefined) {
            return new PlainDate().toString();
        }
        if (args.length === 1) {
            args[0] = dateValue(args[0]);
        }
        return Reflect.construct(PlainDate, args, new.target);
    }
    replace('Date', DateOf, 7);
    hide(Date, 'parse', function parse(string) { return native.date(String(string)); });

    // Regular expressions: \p{...} is spelt out.
    const PlainRegExp = RegExp;
    function RegExpOf(pattern, flags) {
        if (typeof pattern === 'string' && typeof flags === 'string' && flags.includes('u') && /\\[pP]/.test(pattern)) {
            pattern = native.expand(pattern);
        }
        return new.target === undefined ? PlainRegExp(pattern, flags) : Reflect.construct(PlainRegExp, [pattern, flags], new.target);
    }
    replace('RegExp', RegExpOf, 2);
    const sourceOf = getOwnPropertyDescriptor(RegExp.prototype, 'source').get;
    defineProperty(RegExp.prototype, 'source', {
        get: {source() { return sourceOf.call(this).replace(/\\u002f/g, '\\/').replace(/\[[^\]]*\]/g, function (c) { return c.replace(/\\\//g, '/'); }); }}.source,
        configurable: true
    });
    hide(RegExp.prototype, 'toString', {toString() { return '/' + this.source + '/' + this.flags; }}.toString);

    // Strings beyond the engine's bound fail before they are made.
    const longest = 1073741822;
    for (const [name, bound] of [['repeat', function (s, n) { return s.length * n; }], ['padStart', function (s, n) { return n; }], ['padEnd', function (s, n) { return n; }]]) {
        const plain = String.prototype[name];
        hide(String.prototype, name, {[name](count, fill) {
            const s = text(this), n = Math.trunc(Number(count)) || 0;
            if (n < 0 && name === 'repeat') {
                throw new RangeError('repeat count must be non-negative');
            }
            if (n === Infinity || bound(s, n) > longest) {
                throw new RangeError('repeat count must be less than infinity and not overflow maximum string size');
            }
            return plain.call(s, n, fill);
        }}[name]);
    }
    // goja's is right up to 2^63 and in powers of two. SpiderMonkey's rounds once in base 10, and in others with each digit
    // beyond 2^53.
    const plainInt = parseInt;
    hide(global, 'parseInt', function parseInt(string, radix) {
        const n = plainInt(string, radix), base = radix | 0 || 10;
        return (n > 9e15 || n < -9e15) && (base & base - 1) !== 0 ? largeInt(string, base, n) : n;
    });
    function largeInt(string, base, near) {
        const [, sign, text] = /^\s*([-+]?)(\w+)/.exec(string);
        if (base === 10) {
            const digits = /^\d+/.exec(text)[0];
            return digits === '0' ? near : Number(sign + digits); // 0: of 0x, without a radix
        }
        let n = 0;
        for (let i = 0, digit; i < text.length && !isNaN(digit = plainInt(text[i], base)); i++) {
            n = n * base + digit;
        }
        return sign === '-' ? -n : n;
    }
    hide(Number, 'parseInt', global.parseInt);
    for (const [name, least] of [['toFixed', 0], ['toExponential', 0], ['toPrecision', 1]]) {
        const plain = Number.prototype[name];
        hide(Number.prototype, name, {[name](digits) {
            const n = Math.trunc(Number(digits)) || 0;
            if (typeof this === 'number' && (digits !== undefined && isFinite(this) || name === 'toFixed') && !(n >= least && n <= 100)) {
                throw new RangeError('precision ' + n + ' out of range');
            }
            // Between two, whole numbers are rounded to the even one.
            const size = typeof this === 'number' ? Math.abs(this) : NaN, unit = 10 ** (String(size).length - n - 1 + least);
            if (name !== 'toFixed' && digits !== undefined && Number.isInteger(size) && size < 1e15 && unit > 1 && size % unit === unit / 2 && Math.floor(size / unit) % 2 === 0) {
                return plain.call(this < 0 ? 1 - size : size - 1, digits);
            }
            return plain.call(this, digits);
        }}[name]);
    }
    hide(JSON, 'parse', function (source, reviver) {
        const value = typeof source === 'string' && reviver === undefined ? native.parse(source) : undefined;
        if (value !== undefined) {
            return value;
        }
        try {
            return parse(source, reviver);
        } catch (e) {
            if (e instanceof SyntaxError) {
                e.message = 'JSON.parse: ' + e.message;
            }
            throw e;
        }
    });
    // goja prints what JSON is indented with byte by byte, and takes no infinite number of blanks.
    hide(JSON, 'stringify', {stringify(value, replacer, space) {
        if (space === undefined) {
            return stringify(value, replacer);
        }
        if (space instanceof String || space instanceof Number) {
            space = space.valueOf();
        }
        if (typeof space === 'number') {
            return stringify(value, replacer, Math.min(space, 10));
        }
        if (typeof space !== 'string' || !/[^\0-\x7f]/.test(space)) {
            return stringify(value, replacer, space);
        }
        space = space.slice(0, 10);
        const made = stringify(value, replacer, space.length);
        return made && made.replace(/\n +/g, function (line) { return '\n' + space.repeat((line.length - 1) / space.length); });
    }}.stringify);

    // ---- toSource and uneval ----
    function nameSource(name) {
        return /^[A-Za-z_$][\w$]*$/.test(name) ? name : /^(0|[1-9]\d{0,8})$/.test(name) ? name : "'" + native.quote(name).slice(1, -1).replace(/\\"/g, '"').replace(/'/g, "\\'") + "'";
    }
    function errorSource(e) {
        const place = native.where(e);
        const file = has.call(e, 'fileName') ? e.fileName : '<unknown>', line = has.call(e, 'lineNumber') ? e.lineNumber : place;
        return '(new ' + e.name + '(' + native.quote(String(e.message)) + ', ' + native.quote(String(file)) + ', ' + line + '))';
    }
    // Function expressions are in parentheses, arrows, classes, methods and what the engine has are not.
    function functionSource(f) {
        const text = functionString.call(f);
        return /^(async )?function/.test(text) && !text.endsWith('[native code]\n}') ? '(' + text + ')' : text;
    }
    const given = new Set(); // the functions toSource of the language, which show what is shown here
    function showsItself(value) { return typeof value.toSource === 'function' && !given.has(value.toSource); }
    // The text that makes the value again; inner: as a part of another one.
    function source(value, inner, open) {
        switch (typeof value) {
        case 'undefined': return '(void 0)';
        case 'string': return native.quote(value);
        case 'number': return Object.is(value, -0) ? '-0' : String(value);
        case 'bigint': return value + 'n';
        case 'symbol': return value.description === undefined ? 'Symbol()' : 'Symbol(' + native.quote(value.description) + ')';
        case 'function': return functionSource(value);
        case 'boolean': return String(value);
        }
        if (value === null) {
            return 'null';
        }
        const seen = open || [];
        if (seen.includes(value)) {
            return isRealArray(value) ? '[]' : '{}';
        }
        if (inner && showsItself(value)) {
            return value.toSource();
        }
        switch (toStringOf.call(value)) {
        case '[object Error]': return errorSource(value);
        case '[object Date]': return '(new Date(' + value.getTime() + '))';
        case '[object RegExp]': return String(value);
        case '[object String]': return '(new String(' + native.quote(String(value)) + '))';
        case '[object Number]': return '(new Number(' + Number(value) + '))';
        case '[object Boolean]': return '(new Boolean(' + value + '))';
        }
        seen.push(value);
        let result;
        if (isRealArray(value)) {
            const items = [];
            for (let i = 0; i < value.length; i++) {
                items.push(i in value ? source(value[i], true, seen) : i === value.length - 1 ? ',' : '');
            }
            result = '[' + items.join(', ') + ']';
        } else {
            const members = keys(value).map(function (name) {
                return nameSource(name) + ':' + source(value[name], true, seen);
            });
            result = '{' + members.join(', ') + '}';
            result = inner ? result : '(' + result + ')';
        }
        seen.pop();
        return result;
    }
    hide(global, 'uneval', function uneval(value) {
        return Object(value) === value && showsItself(value) ? value.toSource() : source(value);
    });
    for (const holder of [Object, Array, Function, Error, Date, RegExp]) {
        hide(holder.prototype, 'toSource', function toSource() { return source(this); });
        given.add(holder.prototype.toSource);
    }
    for (const holder of [String, Number, Boolean, Symbol]) {
        hide(holder.prototype, 'toSource', function toSource() { return source(Object(this.valueOf())); });
        given.add(holder.prototype.toSource);
    }
    hide(Math, 'toSource', function toSource() { return 'Math'; });
    hide(JSON, 'toSource', function toSource() { return 'JSON'; });
    // What errstr() of the query server shows of an exception.
    function toSource(e) { return e.toSource ? e.toSource() : e.toString(); }

    // ---- prototypes of values from outside: in CouchDB they belong to another realm ----
    function outside(constructor, parent, name) {
        const outer = {[name](...items) { return new constructor(...items); }}[name];
        const prototype = create(parent, {constructor: {value: outer, writable: true, enumerable: false, configurable: true}});
        defineProperty(constructor, Symbol.hasInstance, {value: function (value) {
            return isInstance.call(this, value) && !isPrototypeOf.call(objectProto, value) && !isPrototypeOf.call(arrayProto, value);
        }});
        return prototype;
    }
    const isInstance = Function.prototype[Symbol.hasInstance], isPrototypeOf = Object.prototype.isPrototypeOf;
    const objectProto = outside(Object, Object.prototype, 'Object');
    const arrayProto = outside(Array, Array.prototype, 'Array');

    // ---- the functions of the query server ----
    function show(name, value) {
        defineProperty(global, name, {value: value, writable: true, enumerable: true, configurable: true});
    }
    show('emit', function emit(key, value) { native.emit(key, value); });
    show('sum', function sum(values) {
        let total = 0;
        for (const i in values) {
            total += values[i];
        }
        return total;
    });
    show('log', function log(message) {
        if (typeof message !== 'string') {
            const error = typeof message === 'object' && message !== null && 'stack' in message && 'name' in message && 'message' in message;
            message = stringify(error ? {error: message.name, message: message.message} : message);
        }
        native.log(String(message));
    });
    show('toJSON', stringify);
    for (const name of ['provides', 'registerType', 'start', 'send', 'getRow']) {
        show(name, {[name]() {}}[name]);
    }
    show('isArray', function isArray(value) { return toStringOf.call(value) === '[object Array]'; });

    // ---- require: CommonJS modules in the design document ----
    function refuse(kind, reason) { return ['error', kind, reason]; }
    // Finds what a path names, from the place of the module that asks or from the design document. Places have the
    // members that modules see of themselves.
    function find(path, place, ddoc) {
        let first = true;
        for (const step of path) {
            if (step === '..') {
                if (!(place.parent && place.parent.parent)) {
                    throw refuse('invalid_require_path', 'Object has no parent ' + stringify(place.current));
                }
                place = {id: place.id.slice(0, place.id.lastIndexOf('/')), parent: place.parent.parent, current: place.parent.current};
            } else if (step === '.') {
                if (!place.parent) {
                    throw refuse('invalid_require_path', 'Object has no parent ' + stringify(place.current));
                }
                place = {parent: place.parent, current: place.current, id: place.id};
            } else {
                if (first) {
                    place = {current: ddoc};
                }
                if (place.current[step] === undefined) {
                    throw refuse('invalid_require_path', 'Object has no property "' + step + '". ' + stringify(place.current));
                }
                place = {current: place.current[step], parent: place, id: place.id ? place.id + '/' + step : step};
            }
            first = false;
        }
        if (typeof place.current !== 'string') {
            throw refuse('invalid_require_path', 'Must require a JavaScript string, not: ' + typeof place.current);
        }
        return {current: place.current, parent: place.parent, id: place.id, exports: {}};
    }
    function load(name, module) {
        const evaluated = native.module(module.current);
        if (typeof evaluated === 'string') {
            throw refuse('compilation_error', "Module require('" + name + "') raised error " + evaluated);
        }
        return evaluated;
    }
    function provideRequire(ddoc) {
        ddoc._module_cache = {};
        const cache = ddoc._module_cache;
        function require(name, from) {
            if (name === undefined || name === null) {
                throw new TypeError('name is ' + name);
            }
            const module = find(name.split('/'), from ? from.parent : undefined, ddoc);
            if (!has.call(cache, module.id)) {
                const run = load(name, module);
                cache[module.id] = {}; // what a circle of modules sees
                try {
                    call.call(run, global, module, module.exports, function (name) { return require(name, module); });
                } catch (e) {
                    delete cache[module.id]; // it fails the next time, too
                    throw refuse('compilation_error', "Module require('" + name + "') raised error " + toSource(e));
                }
                cache[module.id] = module.exports;
            }
            return cache[module.id];
        }
        show('index', function index() {}); // full-text search of old; where there is no require there is none of it either
        show('require', function (name, module) { return require(name, module); });
        defineProperty(global.require, 'name', {value: 'require'});
        return ddoc;
    }
    function add(a, b) { return a + b; }
    return {objectProto, arrayProto, freeze, preventExtensions, stringify, toSource, provideRequire, add};
}
