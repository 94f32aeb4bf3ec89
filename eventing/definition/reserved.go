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

// reservedJS are the words that JavaScript keeps for itself, those of strict mode and of older versions included, and
// the literals and globals that cannot be declared.
var reservedJS = wordSet(`
abstract arguments await boolean break byte case catch char class const continue debugger default delete do
double else enum eval export extends false final finally float for function goto if implements import in instanceof
int interface let long native new null package private protected public return short static super switch synchronized
this throw throws transient true try typeof undefined var void volatile while with yield NaN Infinity`)

// reservedN1QL are the reserved words of SQL++ for JSON, in upper case.
var reservedN1QL = wordSet(`
ADVISE ALL ALTER ANALYZE AND ANY ARRAY AS ASC AT BEGIN BETWEEN BINARY BOOLEAN BREAK BUCKET BUILD BY CACHE CALL CASE
CAST CLUSTER COLLATE COLLECTION COMMIT COMMITTED CONNECT CONTINUE CORRELATED COVER CREATE CURRENT CYCLE DATABASE
DATASET DATASTORE DECLARE DECREMENT DEFAULT DELETE DERIVED DESC DESCRIBE DISTINCT DO DROP EACH ELEMENT ELSE END EVERY
EXCEPT EXCLUDE EXECUTE EXISTS EXPLAIN FALSE FETCH FILTER FIRST FLATTEN FLATTEN_KEYS FLUSH FOLLOWING FOR FORCE FROM FTS
FUNCTION GOLANG GRANT GROUP GROUPS GSI HASH HAVING IF IGNORE ILIKE IN INCLUDE INCREMENT INDEX INFER INLINE INNER INSERT
INTERSECT INTO IS ISOLATION JAVASCRIPT JOIN KEY KEYS KEYSPACE KNOWN LANGUAGE LAST LATERAL LEFT LET LETTING LEVEL LIKE
LIMIT LSM MAP MAPPING MATCHED MATERIALIZED MAXVALUE MERGE MINUS MINVALUE MISSING NAMESPACE NEST NEXT NEXTVAL NL NO NOT
NTH_VALUE NULL NULLS NUMBER OBJECT OFFSET ON OPTION OPTIONS OR ORDER OTHERS OUTER OVER PARSE PARTITION PASSWORD PATH
POOL PRECEDING PREPARE PREV PREVVAL PRIMARY PRIVATE PRIVILEGE PROBE PROCEDURE PUBLIC RANGE RAW READ REALM RECURSIVE
REDUCE RENAME REPLACE RESPECT RESTART RESTRICT RETURN RETURNING REVOKE RIGHT ROLE ROLES ROLLBACK ROW ROWS SATISFIES
SAVEPOINT SCHEMA SCOPE SELECT SELF SEQUENCE SEMI SET SHOW SOME START STATISTICS STRING SYSTEM THEN TIES TO TRAN
TRANSACTION TRIGGER TRUE TRUNCATE UNBOUNDED UNDER UNION UNIQUE UNKNOWN UNNEST UNSET UPDATE UPSERT USE USER USERS USING
VALIDATE VALUE VALUED VALUES VECTOR VIA VIEW WHEN WHERE WHILE WINDOW WITH WITHIN WORK XOR`)

// isReservedJS reports whether JavaScript keeps the word for itself; case counts there.
func isReservedJS(word string) bool { return reservedJS[word] }

// isReservedN1QL reports whether queries keep the word for themselves, in any case.
func isReservedN1QL(word string) bool { return reservedN1QL[strings.ToUpper(word)] }
