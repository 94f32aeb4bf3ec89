// Package script makes programs for goja of the sources of functions and modules, so that they do
// in goja what they do in CouchDB's engine, and tells what functions read of their parameters. It
// runs no code of users.
//
// A Compiler gives a Program for the source of a function or a module. A realm that runs programs
// is prepared with Bind, and has StringBuilders for the texts that they append to.
//
// # Files
//
//   - compiler.go keeps the programs of sources; convert.go with normalise.js and coffee.go makes JavaScript of sources
//     as CouchDB does; large.go takes large ones as they stand
//   - compile.go makes programs of texts. blockfunctions.go and properties.go add what goja lacks, stringbuilder.go
//     speeds up what it does slowly; hidden.go has the functions that programs call for that
//   - use.go finds what is done with a parameter in a syntax tree
//   - quote.go and texts.go give texts and errors CouchDB's form
//
// thirdparty has esprima, escodegen and the compiler of CoffeeScript as published, with their
// licences.
//
// # Invariants
//
//  1. Sources up to 32 KB are parsed by esprima and printed by escodegen, or compiled by CoffeeScript, as in CouchDB;
//     larger ones are changed only so that a function without a name is what they evaluate to.
//  2. What is added to a program has names that no source can spell, and no message of an error
//     shows it.
//  3. A program holds no state of what runs: any number of realms may run it, one after another.
//  4. A Use that is not Complete names all that anybody can see of the value; where that is less than certain it is
//     Complete.
//  5. A text that cannot be parsed or compiled is a Program with a Refusal; no text makes anything
//     here panic.
package script
