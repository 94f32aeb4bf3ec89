// Turns the source of a function of a design document into the text that is evaluated: the last function declaration, if
// it has no name, becomes an expression, so that it is what the evaluation gives; everything is printed anew.
'use strict';
const esprima = require('esprima');
const escodegen = require('escodegen');

function quote(text) {
    return '"' + text.replace(/["\\]/g, '\\$&').replace(/[\b\t\n\v\f\r]/g, function (c) {
        return {'\b': '\\b', '\t': '\\t', '\n': '\\n', '\v': '\\v', '\f': '\\f', '\r': '\\r'}[c];
    }).replace(/[^ -~]/g, function (c) {
        const code = c.charCodeAt(0).toString(16).toUpperCase();
        return code.length > 2 ? '\\u' + ('000' + code).slice(-4) : '\\x' + ('0' + code).slice(-2);
    }) + '"';
}

module.exports = function (source) {
    let tree;
    try {
        tree = esprima.parse(source);
    } catch (e) {
        if (e.lineNumber === undefined) {
            throw e;
        }
        return {error: '(new Error(' + quote(e.message) + ', "./share/server/main.js", ' + e.lineNumber + '))'};
    }
    const body = tree.body;
    if (body.length === 0) {
        // What the real server stumbles over, in its own words.
        return {error: '(new TypeError("decl is undefined", "./share/server/main.js", 33))'};
    }
    let at = body.length - 1;
    while (at > 0 && body[at].type !== 'FunctionDeclaration') {
        at--;
    }
    if (body[at].type === 'FunctionDeclaration' && body[at].id === null) {
        body[at].type = 'FunctionExpression';
        body[at] = {type: 'ExpressionStatement', expression: body[at]};
    }
    return {text: escodegen.generate(tree)};
};
