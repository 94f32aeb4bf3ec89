// Package stringify tells which text JSON.stringify makes of a document that JSON.parse has read,
// without either of them: from the text that it was parsed from. It knows no realm.
//
// # Invariants
//
//  1. A text that is given is that of JSON.stringify, byte for byte; where that is less than certain
//     none is.
//  2. Values that are nested deeper than MaxDepth are not followed.
package stringify
