// Package collate orders strings and JSON values as CouchDB's views do (couch_ejson_compare): null
// < false < true < numbers < strings < arrays < objects. Strings are in the order of ICU 72's root
// collation with its default settings, which is that of CLDR 42; numbers are compared exactly;
// arrays element by element; objects member by member in their own order.
//
// Every order comes in two forms that always agree: a comparison, and a key whose bytes compare the
// same way, for indexes.
//
//   - value.go, valuekey.go: JSON values; prefix.go: where their keys and groups end
//   - number.go, numberkey.go: numbers
//   - raw.go, rawkey.go: Erlang's order of terms, which CouchDB calls raw collation
//   - string.go: strings; ascii.go: the fast way for ASCII
//   - stringkey.go: weights to keys
//   - elements.go: characters to weights
//   - table.go: reading the table; root.bin: the table itself
//
// The command tools/collationtable makes root.bin.
//
// Invariants:
//  1. bytes.Compare(AppendKey(nil, a), AppendKey(nil, b)) == Compare(a, b), and no key of a value is a proper prefix of
//     another one's. The same without the second half holds for AppendStringKey and CompareStrings.
//  2. A string's key has no byte 0.
//  3. Keys depend on Version alone: an index that was written with another one must be built anew.
//  4. As ICU without normalisation, text is taken as it comes: composed characters have the weights of their parts, but
//     combining marks in another than the canonical order are not put in order.
//  5. No function recurses over the depth of a value.
//
// CouchDB's own comparison loses exactness in one place that is not copied: values nested deeper
// than ten levels have their numbers compared as doubles.
//
// The table is made of a data file of ICU and CLDR under the Unicode licence, see UNICODE-LICENSE.
package collate

//go:generate go run ../../tools/collationtable -in FractionalUCA.txt -out root.bin
