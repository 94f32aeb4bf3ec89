// What functions of search indexes have beside those of all functions: index(), as CouchDB's share/server/dreyfus.js
// (_search) and nouveau.js (_nouveau) define it. It runs once in the realm of such a function.
(function (keep, nouveau) {
    'use strict';
    function must(holds, message) {
        if (!holds) {
            throw {name: 'TypeError', message: message};
        }
    }
    function checkName(name) {
        if (name.substring(0, 1) === '_') {
            throw {name: 'ReservedName', message: 'name must not start with an underscore'};
        }
    }
    // Options of most calls, as JSON: objects are written out, and a text is what no function can give.
    const stored = '{"store":true}', plain = nouveau ? '{"store":false}' : '{}';
    const types = {text: 'string', string: 'string', double: 'number'};
    if (nouveau) {
        return function index(type, name, value, options) {
            must(typeof type === 'string', 'type of type must be a string not ' + typeof type);
            must(typeof name === 'string', 'type of name must be a string not ' + typeof name);
            checkName(name);
            if (type === 'stored') {
                must(typeof value === 'string' || typeof value === 'number',
                    'type of value must be a string or number not ' + typeof value);
            } else {
                must(Object.prototype.hasOwnProperty.call(types, type), type + ' not supported');
                must(typeof value === types[type], 'type of value must be a ' + types[type] + ' not ' + typeof value);
            }
            keep(type, name, value, options && options.store ? stored : plain);
        };
    }
    return function index(name, value, options) {
        must(typeof name === 'string', 'name must be a string not ' + typeof name);
        checkName(name);
        must(typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean',
            'value must be a string, a number or boolean not ' + typeof value);
        must(!options || typeof options === 'object', 'options must be an object not ' + typeof options);
        keep(name, value, options || plain);
    };
})
