// What functions of design documents other than map and reduce find in their realm, and how they are run: the answers are those of
// CouchDB's query server, as the text of a JSON value. It runs once in a realm, after prelude.js and before any source of a user.
// native holds functions of the host, see design_worker.go; toSource shows a value as the engine of CouchDB does; outerArray is the
// prototype of arrays that come from outside.
function (native, global, toSource, outerArray) {
    'use strict';
    const {create, defineProperty, getPrototypeOf} = Object;
    const {stringify} = JSON;
    const apply = Reflect.apply;

    function show(name, value) {
        defineProperty(global, name, {value: value, writable: true, enumerable: true, configurable: true});
    }
    // Whether a value may be a response. CouchDB tells arrays of its own from those that a function makes, which pass for objects.
    function isObject(v) { return typeof v === 'object' && v !== null && getPrototypeOf(v) !== outerArray; }
    // An error that the code of CouchDB's query server raises, at its place there.
    function mishap(reason, line) {
        const e = new TypeError(reason);
        defineProperty(e, 'fileName', {value: './share/server/main.js'});
        defineProperty(e, 'lineNumber', {value: line});
        return e;
    }
    function wrap(response) { return typeof response === 'string' ? {body: response} : response; }

    // ---- media types ----
    const typesOf = create(null), keyOf = create(null);
    function registerType(key, ...types) {
        typesOf[key] = types;
        for (const type of types) {
            keyOf[type] = key;
        }
    }
    for (const list of [
        ['all', '*/*'], ['text', 'text/plain; charset=utf-8', 'txt'], ['html', 'text/html; charset=utf-8'],
        ['xhtml', 'application/xhtml+xml', 'xhtml'], ['xml', 'application/xml', 'text/xml', 'application/x-xml'],
        ['js', 'text/javascript', 'application/javascript', 'application/x-javascript'], ['css', 'text/css'],
        ['ics', 'text/calendar'], ['csv', 'text/csv'], ['rss', 'application/rss+xml'], ['atom', 'application/atom+xml'],
        ['yaml', 'application/x-yaml', 'text/yaml'], ['multipart_form', 'multipart/form-data'],
        ['url_encoded_form', 'application/x-www-form-urlencoded'], ['json', 'application/json', 'text/x-json']
    ]) {
        registerType(...list);
    }
    // A media type or range with its parameters; the weight is 1 unless it is a number from 0 to 1.
    function parseRange(text) {
        const parts = text.split(';'), params = create(null);
        for (const part of parts) {
            const pair = part.split('=');
            if (pair.length === 2) {
                params[pair[0].trim()] = pair[1].trim();
            }
        }
        const name = parts[0].trim(), [type, subtype] = (name === '*' ? '*/*' : name).split('/');
        const weight = parseFloat(params.q);
        if (!(weight >= 0 && weight <= 1)) {
            params.q = '1';
        }
        return {type: type, subtype: subtype, params: params};
    }
    function fits(a, b) { return a === b || a === '*' || b === '*'; }
    // How well the best of the ranges fits a type, and the weight it has.
    function fitness(offered, ranges) {
        const target = parseRange(offered);
        let best = -1, weight = 0;
        for (const range of ranges) {
            if (!fits(range.type, target.type) || !fits(range.subtype, target.subtype)) {
                continue;
            }
            let score = (range.type === target.type ? 100 : 0) + (range.subtype === target.subtype ? 10 : 0);
            for (const name in target.params) {
                if (name !== 'q' && range.params[name] && range.params[name] === target.params[name]) {
                    score++;
                }
            }
            if (score > best) {
                best = score;
                weight = range.params.q;
            }
        }
        return [best, parseFloat(weight)];
    }
    // The offered type that an Accept header likes best. Candidates are compared as texts: that is what decides in CouchDB.
    function bestType(offered, accept) {
        const ranges = accept.split(',').map(parseRange);
        const candidates = offered.map(function (type, i) { return [fitness(type, ranges), i, type]; });
        candidates.sort();
        if (candidates.length === 0) {
            throw mishap('weighted[(weighted.length - 1)] is undefined', 7131);
        }
        const best = candidates[candidates.length - 1];
        return best[0][1] ? best[2] : '';
    }

    // ---- provides ----
    let provided = [], providing = false, chosenType = null;
    function resetProvides() {
        provided = [];
        providing = false;
        chosenType = null;
    }
    function typesNamed(key, shown, line) {
        if (!typesOf[key]) {
            throw mishap('mimesByKey[' + shown + '] is undefined', line);
        }
        return typesOf[key];
    }
    function runProvides(request, ddoc) {
        const accept = request.headers.Accept;
        let key;
        if (request.query && request.query.format) {
            key = request.query.format;
            chosenType = typesNamed(key, 'bestKey', 7217)[0];
        } else if (accept) {
            provided.reverse();
            chosenType = bestType([].concat(...provided.map(function (p) { return typesOf[p.key] || []; })), accept);
            key = keyOf[chosenType];
        } else {
            key = provided[0].key;
            chosenType = typesNamed(key, 'bestKey', 7231)[0];
        }
        const found = key && provided.find(function (p) { return p.key == key; });
        if (found && found.run) {
            return apply(found.run, ddoc, []);
        }
        const known = provided.map(function (p) {
            return typesNamed(p.key, 'mf[0]', 7246).join(', ') || p.key;
        });
        throw ['error', 'not_acceptable', 'Content-Type ' + (accept || key) + ' not supported, try one of: ' + known.join(', ')];
    }

    // ---- start, send, getRow ----
    let head = {}, headIsNew = false, chunks = [], reading = false, ended = false, listing = false, premature;
    function resetOutput() {
        head = {};
        headIsNew = false;
        chunks = [];
        reading = ended = false;
    }
    function withType(response) {
        if (typeof response !== 'object') {
            return response;
        }
        response.headers = response.headers || {};
        if (chosenType) {
            response.headers['Content-Type'] = response.headers['Content-Type'] || chosenType;
        }
        return response;
    }
    // What goes out before a row comes in, or at the end.
    function output(label) {
        const message = headIsNew ? [label, chunks, head] : [label, chunks];
        headIsNew = false;
        chunks = [];
        return text(message);
    }
    function getRow() {
        if (ended) {
            return null;
        }
        if (!listing) { // there are no rows: what a list says first becomes the answer
            premature = text(['start', chunks, withType(head || {})]);
            throw refuse('error', premature);
        }
        if (reading) {
            native.output(output('chunks'));
        } else {
            reading = headIsNew = true;
            head = withType(head || {});
            native.output(output('start'));
            head = {};
        }
        const row = native.row();
        if (row === undefined) {
            ended = true;
            return null;
        }
        return row;
    }
    show('provides', function provides(key, run) {
        providing = true;
        provided.push({key: key, run: run});
    });
    show('registerType', registerType);
    show('start', function start(response) {
        head = response || {};
        headIsNew = true;
    });
    show('send', function send(chunk) {
        if (chunk === null || chunk === undefined) {
            throw mishap('chunk is ' + chunk, 7308);
        }
        chunks.push(chunk.toString());
    });
    show('getRow', getRow);

    // ---- answers ----
    // A value that JSON.stringify refuses is never answered in CouchDB: the process times out.
    const unanswered = '["error","os_process_error","OS process timed out."]';
    function text(message) {
        try {
            return stringify(message) || unanswered;
        } catch (e) {
            return unanswered;
        }
    }
    function refuse(word, reason) { return ['error', word, reason]; }
    // Makes what a function threw an error of the function; errors made with care stay what they are.
    function raised(e, fun, word) {
        if (e.error && e.reason || e[0] == 'error' || e[0] == 'fatal') {
            return e;
        }
        const reason = 'function raised error: ' + toSource(e) + ' \nstacktrace: ' + e.stack;
        native.log(reason);
        return refuse(word || 'render_error', reason);
    }
    // The answer to what leaves a command as an exception.
    function failure(e) {
        if (e === null || e === undefined) {
            return text(refuse('TypeError', {}));
        }
        if (e[0] == 'fatal') {
            e[0] = 'error';
            return text(e);
        }
        if (e[0] == 'error') {
            return text(e);
        }
        if (e.name == 'InternalError') {
            return text(refuse(e.name, e.message));
        }
        if (e.error && e.reason) {
            return text(refuse(e.error, e.reason));
        }
        return text(e.name ? refuse(e.name, e) : refuse('unnamed_error', toSource(e)));
    }
    function guarded(run) {
        return function (...args) {
            premature = undefined;
            try {
                const answer = run(...args);
                return premature || answer;
            } catch (e) {
                if (premature) {
                    return premature;
                }
                try {
                    return failure(e);
                } catch (again) {
                    return text(refuse('TypeError', {}));
                }
            }
        };
    }

    // ---- the commands ----
    function runShow(fun, ddoc, doc, request) {
        try {
            listing = false;
            resetOutput();
            resetProvides();
            const response = wrap(apply(fun, ddoc, [doc, request]) || {});
            if (chunks.length > 0 && isObject(response)) {
                response.headers = response.headers || {};
                for (const name in head) {
                    response.headers[name] = head[name];
                }
                response.body = chunks.join('') + (response.body || '');
                resetOutput();
            }
            if (providing && isObject(response)) {
                const inner = wrap(runProvides(request, ddoc) || {});
                response.body = (response.body || '') + chunks.join('');
                response.body += inner.body || '';
                withType(response);
                resetOutput();
            }
            if (!isObject(response)) {
                throw refuse('render_error', 'undefined response from show function');
            }
            return text(['resp', response]);
        } catch (e) {
            if (doc === null && request.path.length > 5) {
                throw refuse('not_found', 'document not found');
            }
            throw raised(e, fun);
        }
    }
    function runUpdate(fun, ddoc, doc, request) {
        try {
            listing = false;
            resetOutput();
            if (request.method == 'GET') {
                throw refuse('method_not_allowed', 'Update functions do not allow GET');
            }
            const result = apply(fun, ddoc, [doc, request]);
            if (result === null || result === undefined) {
                throw mishap('result is ' + result, 7419);
            }
            const changed = result[0], response = wrap(result[1]);
            if (!isObject(response)) {
                throw refuse('render_error', 'undefined response from update function');
            }
            return text(['up', changed, response]);
        } catch (e) {
            throw raised(e, fun);
        }
    }
    function runRewrite(fun, ddoc, request) {
        let result;
        try {
            result = apply(fun, ddoc, [request]);
        } catch (e) {
            throw raised(e, fun, 'rewrite_error');
        }
        if (!result) {
            return '["no_dispatch_rule"]';
        }
        return text(['ok', typeof result === 'string' ? {path: result, method: request.method} : result]);
    }
    function runList(fun, ddoc, header, request) {
        try {
            resetProvides();
            resetOutput();
            listing = true;
            let tail = apply(fun, ddoc, [header, request]);
            if (providing) {
                tail = runProvides(request, ddoc);
            }
            if (!reading) {
                getRow();
            }
            if (tail !== undefined) {
                chunks.push(tail);
            }
            return output('end');
        } catch (e) {
            throw raised(e, fun);
        } finally {
            listing = false;
        }
    }
    // undefined: the document passes.
    function runValidate(fun, ddoc, doc, old, user, security) {
        try {
            apply(fun, ddoc, [doc, old, user, security]);
        } catch (e) {
            if (e.name && e.stack) {
                throw e;
            }
            return text(e);
        }
    }
    return {
        shows: guarded(runShow), updates: guarded(runUpdate), rewrites: guarded(runRewrite), lists: guarded(runList),
        validate: guarded(runValidate), failure: guarded(function (e) { throw e; })
    };
}
