package n1ql

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, text := range []string{
		`SELECT * FROM b`,
		`select distinct a.b, a.c[0] as x, a.* from b a where a.d = 1 order by x desc, a.e limit 5 offset 3;`,
		`SELECT RAW META(u).id FROM users AS u`,
		`SELECT raw FROM b`, `SELECT value, raw.x FROM b`, `SELECT first, type, name, key, keys FROM b`,
		`SELECT RAW {"a": 1, "b": x} FROM b`,
		`SELECT a FROM default:b`, "SELECT a FROM default:`b`", "SELECT a FROM `b`.`_default`.`_default` AS c",
		`SELECT a FROM $b`, `SELECT a FROM :b USE KEYS ["1", "2"]`, `SELECT a FROM b USE PRIMARY KEYS $k`,
		`SELECT ANY x IN a SATISFIES x > 1 END, EVERY x IN a SATISFIES x.y END e, ` +
			`ANY AND EVERY x IN a SATISFIES x END AS f FROM b`,
		`SELECT CASE WHEN a THEN 1 ELSE 2 END AS x, CASE a WHEN 1 THEN 2 END AS y FROM b`,
		`SELECT COUNT(*) AS n, SUM(DISTINCT a), MIN(a.b) + MAX(a.c), AVG(-a) FROM b WHERE c`,
		`SELECT a FROM b WHERE NOT a AND b IS NOT MISSING OR c NOT IN [1] AND d NOT LIKE "x%" AND e NOT BETWEEN 1 AND 2`,
		`INSERT INTO b (KEY, VALUE) VALUES ("k", {"a": 1}), VALUES ("l", {}) RETURNING META().id, *`,
		`INSERT INTO b (PRIMARY KEY, VALUE, OPTIONS) VALUES ($k, :v, {"expiration": 5}), ($l, :v)`,
		`UPSERT INTO b VALUES ("k", $v)`,
		`UPDATE b USE KEYS "k" SET a = 1, b.c[0].d = a || "x" UNSET e, f[-1] WHERE g LIMIT 3 RETURNING RAW a`,
		`DELETE FROM b AS c WHERE c.d = 1 LIMIT 2 RETURNING c.*`,
		`SELECT 1 + 2 * -3 AS x, "it's", 'it''s', "a\nb\u00e9\ud83d\ude00"`,
		`SELECT a FROM b WHERE EXISTS c AND NOT EXISTS ARRAY x.y FOR x IN d, z IN e WHEN x > z END ` +
			`ORDER BY FIRST x FOR x IN f END DESC NULLS LAST, a NULLS FIRST`,
		`SELECT OBJECT x.a:x.b FOR x IN c END AS o, a[1:2], a[:-1], a[b:], object, first x FROM b`,
		`SELECT a[*].b[0], a[*] AS c, ARRAY x FOR x WITHIN a, y IN b END AS d FROM b WHERE 1 NOT WITHIN a.b AND c WITHIN d`,
		`SELECT ARRAY_AGG(ALL a) AS x, ARRAY_AGG(DISTINCT a.b) AS y FROM b`,
		`UPDATE b SET META().expiration = 5, a = 1 WHERE META(b).expiration > 0`,
		`SELECT /* ; */ 1 -- ;`,
		strings.Repeat("(", 50) + `SELECT 1` + strings.Repeat(")", 50),
	} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestParseErrors has the sign § before what is wrong.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"§", "expected a statement"},
		{"§FOO", "expected a statement, not FOO"},
		{"SELECT §", "expected an expression, not the end of the text"},
		{"SELECT §a", "there is no FROM"},
		{"SELECT a FROM b §GROUP BY a", "GROUP BY is not supported"},
		{"SELECT a FROM b §HAVING a", "HAVING is not supported"},
		{"SELECT a FROM b §LETTING a = 1", "LETTING is not supported"},
		{"SELECT a FROM b §LET a = 1", "LET is not supported"},
		{"SELECT a FROM b §JOIN c ON a = b", "JOIN is not supported"},
		{"SELECT a FROM b §INNER JOIN c ON a = b", "JOIN is not supported"},
		{"SELECT a FROM b§, c", "JOIN is not supported"},
		{"SELECT a FROM b §NEST c", "NEST is not supported"},
		{"SELECT a FROM b §UNNEST c", "UNNEST is not supported"},
		{"SELECT a FROM b §UNION SELECT c FROM d", "UNION is not supported"},
		{"SELECT a FROM b §INTERSECT SELECT c FROM d", "INTERSECT is not supported"},
		{"SELECT a FROM b §EXCEPT SELECT c FROM d", "EXCEPT is not supported"},
		{"SELECT a FROM §(SELECT c FROM d) e", "a subquery is not supported"},
		{"SELECT a FROM b WHERE c IN (§SELECT d FROM e)", "a subquery is not supported"},
		{"SELECT a FROM b WHERE EXISTS (§SELECT d FROM e)", "a subquery is not supported"},
		{"SELECT a FROM b §USE INDEX (c)", "USE INDEX is not supported"},
		{"SELECT SUM(a) §OVER () FROM b", "OVER is not supported"},
		{"SELECT §ROW_NUMBER() OVER () FROM b", "ROW_NUMBER is a window function"},
		{"SELECT a FROM b §WINDOW w AS ()", "WINDOW is not supported"},
		{"SELECT a FROM b §LEFT OUTER JOIN c ON a = b", "JOIN is not supported"},
		{"SELECT a FROM b §INNER UNNEST c", "JOIN is not supported"},
		{"SELECT (§SELECT 1) AS x FROM b", "a subquery is not supported"},
		{"§CREATE INDEX i ON b(c)", "CREATE is not supported"},
		{"§DROP INDEX b.i", "DROP is not supported"},
		{"§WITH a AS (1) SELECT a", "WITH is not supported"},
		{"§EXPLAIN SELECT 1", "EXPLAIN is not supported"},
		{"§PREPARE p FROM SELECT 1", "PREPARE is not supported"},
		{"§EXECUTE p", "EXECUTE is not supported"},
		{"§GRANT a TO b", "GRANT is not supported"},
		{"§INFER b", "INFER is not supported"},
		{"SELECT a FROM b ORDER BY a NULLS §NOWHERE", "expected FIRST or LAST"},
		{"SELECT SUM(a), §c FROM b", "GROUP BY"},
		{"SELECT SUM(§MAX(a)) FROM b", "inside of another aggregate"},
		{"SELECT a FROM b §WHERE SUM(a) > 1", "aggregates"},
		{"SELECT a, §a FROM b", "two values are called a"},
		{"SELECT §FOO(a) FROM b", "there is no function FOO"},
		{"SELECT §LOWER(a, c) FROM b", "LOWER has 1 argument"},
		{"SELECT META(§c).id FROM b", "there is no keyspace c"},
		{"SELECT a FROM §b.c.d", "one scope and one collection"},
		{"SELECT a[*§:1] FROM b", "expected ]"},
		{"SELECT §within FROM b", "expected an expression"},
		{"SELECT ARRAY_AGG(§) FROM b", "expected an expression"},
		{"SELECT ANY n:§IN a SATISFIES v END FROM b", "expected a variable"},
		{"SELECT ANY n:m§:v IN a SATISFIES v END FROM b", "expected IN"},
		{"SELECT ARRAY SUM(§n) FOR n:x IN a END FROM b", "cannot have the variable n"},
		{"SELECT ARRAY x IN a §END FROM b", "expected FOR"},
		{"SELECT ARRAY §x FOR y IN [1] END", "there is no FROM"},
		{"SELECT ARRAY SUM(§x) FOR x IN a END FROM b", "cannot have the variable x"},
		{"SELECT ANY x IN a SATISFIES SUM(§x) > 1 END FROM b", "cannot have the variable x"},
		{"SELECT OBJECT x §FOR x IN a END FROM b", "a name and a value"},
		{"SELECT {§a: 1}", "in quotes"},
		{"INSERT INTO b (KEY §k, VALUE v) SELECT a FROM c",
			"INSERT … SELECT is not supported"},
		{"UPSERT INTO b (KEY, VALUE) §SELECT a FROM c", "UPSERT … SELECT is not supported"},
		{"UPDATE b SET §META().cas = 1", "only META().expiration can be set"},
		{"UPDATE b UNSET §META().expiration", "only META().expiration can be set"},
		{"UPDATE b SET META(§c).expiration = 1", "there is no keyspace c"},
		{"UPDATE b SET a = 1 §FOR x IN c END", "FOR is not supported"},
		{"UPDATE b §WHERE a", "expected SET or UNSET"},
		{"DELETE FROM b RETURNING COUNT(*)§", "only SELECT has aggregates"},
		{"SELECT 1; §foo", "expected the end of the statement"},
		{"§MERGE INTO b USING c", "MERGE is not supported"},
		{"SELECT §1e999", "too large"},
		{"SELECT §/* x", "no end"},
	} {
		at := strings.Index(c.text, "§")
		text := strings.Replace(c.text, "§", "", 1)
		_, err := Parse(text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: no error", text)
			continue
		}
		if syntax.Index != at || !strings.Contains(syntax.Message, c.want) {
			t.Errorf("%s: %q at %d, wanted %q at %d", text, syntax.Message, syntax.Index, c.want, at)
		}
	}
}

// TestDepth: what is nested too deep is an error, however it is nested.
func TestDepth(t *testing.T) {
	const n = 90_000
	for _, c := range [][3]string{
		{"SELECT ", "(", "1"}, {"SELECT ", "[", "1"}, {"SELECT ", "- ", "1"}, {"SELECT ", "NOT ", "1"},
		{"SELECT ", `{"a":`, "1"}, {"SELECT ", "1+", "1"}, {"SELECT ", "1 = ", "1"}, {"SELECT ", "LOWER(", "1"},
		{"SELECT ", "CASE WHEN ", "1"}, {"SELECT ", "ANY x IN ", "1"}, {"", "(", "SELECT 1"},
		{"SELECT a", ".a", " FROM b"}, {"SELECT a", "[0]", " FROM b"}, {"UPDATE b SET a", ".a", " = 1"},
		{"SELECT 1", " IS NULL", ""}, {"SELECT 1", " NOT IN [1]", ""},
	} {
		var syntax *SyntaxError
		if _, err := Parse(c[0] + strings.Repeat(c[1], n) + c[2]); !errors.As(err, &syntax) ||
			!strings.Contains(syntax.Message, "levels") {
			t.Errorf("%s: %v", c[1], err)
		}
	}
	long := "SELECT 1" + strings.Repeat(" AND 1", n) + strings.Repeat(" OR 1", n/2)
	if _, err := Parse(long); err != nil {
		t.Errorf("long conditions: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`SELECT DISTINCT a.*, b[0] c FROM d USE KEYS $k WHERE e LIKE "f%" ORDER BY g DESC LIMIT 1 OFFSET 2`,
		`INSERT INTO a (KEY, VALUE) VALUES ("k", {"a"::b,"c":true}) RETURNING *`,
		`UPDATE a SET b.c[0] = CASE WHEN d THEN 1 END UNSET e WHERE ANY x IN f SATISFIES x.g BETWEEN 1 AND 2 END`,
		`DELETE FROM a WHERE META(a).id IN ["x"] AND NOT b IS MISSING`, `SELECT COUNT(*), AVG(a) FROM b`,
		`SELECT REPEAT("ab", 3) || UPPER('x') -- c`, `((SELECT 1e5 % .5))`,
		`SELECT ARRAY x[1:$a] FOR x IN a, y IN b WHEN EXISTS y END, FIRST z FOR z IN c END FROM d ORDER BY e NULLS LAST`,
		`UPDATE a SET META().expiration = 5, b = OBJECT x:y FOR x IN c, y IN d END`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Index > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		params := `{`
		for i, p := range s.Params() {
			if i > 0 {
				params += ","
			}
			params += `"` + strings.ReplaceAll(p, `\`, `\\`) + `":"a"`
		}
		q, err := s.Bind([]byte(params + "}"))
		if err != nil {
			return
		}
		rows, err := q.Rows(t.Context(), newFake(t, map[string]string{"a": `{"a":[1,{"b":"c"}],"d":null}`, "b": `{}`}))
		if err != nil {
			return
		}
		defer rows.Close()
		for {
			if _, ok, err := rows.Next(); !ok || err != nil {
				return
			}
		}
	})
}
