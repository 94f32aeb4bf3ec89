package definition

import "strings"

// wordSet is a set of words that are separated by blanks.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// reservedJS are the words that JavaScript keeps for itself, those of strict mode and of older
// versions included, and the literals and globals that cannot be declared.
var reservedJS = wordSet(`
abstract arguments await boolean break byte case catch char class const continue debugger default delete do
double else enum eval export extends false final finally float for function goto if implements import in instanceof
int interface let long native new null package private protected public return short static super switch synchronized
this throw throws transient true try typeof undefined var void volatile while with yield NaN Infinity`)

// reservedN1QL are the words of N1QL that Couchbase keeps from being aliases, in upper case: those
// that statements begin with, and FROM. It has many more reserved words, as USER and VALUE, which
// published functions have as aliases.
var reservedN1QL = wordSet(`
ALTER BUILD CREATE DELETE DROP EXECUTE EXPLAIN FROM GRANT INFER INSERT MERGE PREPARE RENAME REVOKE SELECT UPDATE
UPSERT`)

// isReservedJS reports whether JavaScript keeps the word for itself; case counts there.
func isReservedJS(word string) bool { return reservedJS[word] }

// isReservedN1QL reports whether queries keep the word for themselves, in any case.
func isReservedN1QL(word string) bool { return reservedN1QL[strings.ToUpper(word)] }
