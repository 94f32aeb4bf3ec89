// Package n1ql runs N1QL statements that stand in the JavaScript of event functions:
//
//	var rows = SELECT name FROM breweries WHERE type = "brewery" AND city = $city LIMIT 5;
//
// Package script finds the statements in JavaScript and replaces each by a call of
// couchbase.n1qlQuery with its text and the values of the variables in it; package datum has values
// and their order, package functions what is called in expressions. That call comes to [Parse],
// [Statement.Bind] and [Query.Rows]. The documents are behind the interface [Keyspaces]; there is no
// other I/O.
//
//   - parser.go, parsestatement.go, parsequery.go, parsefrom.go, parsemerge.go, parseexpr.go,
//     parsecall.go, parserange.go, parsewindow.go: the parser of statements; ast.go: what it makes;
//     embed.go: a statement in other code
//   - eval.go, evalcondition.go, evalrange.go (ANY, ARRAY … FOR, parts of arrays): expressions
//   - selector.go: WHERE as a selector of Mango, ids that WHERE names
//   - keyspace.go: what statements need of documents; memory.go: what they hold; plan.go: how
//     they have read them
//   - query.go: Query, the statement with its parameters; rows.go: Rows, rows one by one
//   - join.go: JOIN, NEST, UNNEST; group.go: GROUP BY; subquery.go: subqueries, UNION and its like
//   - select.go: SELECT, ORDER BY; fold.go: aggregates, DISTINCT; change.go: INSERT, UPSERT,
//     UPDATE, DELETE; merge.go: MERGE
//   - window.go: rows that wait for functions over windows, and partitions; frame.go: their frames;
//     windowcall.go: the functions
//   - errors.go: Error
//
// The subset: SELECT [DISTINCT] list or RAW FROM a keyspace or a subquery with joins, USE KEYS, LET,
// WHERE, GROUP BY, WINDOW, ORDER BY, LIMIT, OFFSET, aggregates, UNION and its like; INSERT, UPSERT, UPDATE,
// DELETE, MERGE, with RETURNING. What else N1QL has is an error that names the clause.
// docs/eventing-queries.md is for users.
//
// Invariants:
//  1. No input overflows the stack: statements have at most maxDepth levels of recursion, documents are not recursed
//     into but for comparisons, which end at maxCompared levels.
//  2. The selector for WHERE finds at least the documents that WHERE holds for, and the evaluator decides on each: rows
//     are the same with and without it.
//  3. Evaluation fails only for want of memory or time: what makes no sense is NULL or MISSING.
//  4. What a statement keeps in memory is bounded (maxKeptRows, maxKeptBytes, maxValueSize; maxHeld for the values of
//     expressions at one time), and the keyspaces are asked for it before (Keyspaces.Hold). A SELECT
//     without ORDER BY, DISTINCT, GROUP BY, windows and joins keeps one row, one with joins a block of rows for each.
//     A subquery gives back what it held but its rows.
//  5. A subquery that has read nothing around it is run once.
//  6. UPDATE, DELETE and MERGE write a document only if it is as it was when WHERE was asked.
//
// Comparisons follow Couchbase's server: operands of different types compare by type (1 < "a"),
// strings by their bytes. Integers stay exact as long as they fit into 64 bits; the ones of
// documents have any size.
package n1ql
