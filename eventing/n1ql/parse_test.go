package n1ql

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/eventing/n1ql/lex"
)

func TestParse(t *testing.T) {
	for _, text := range []string{
		`SELECT * FROM b`,
		`select distinct a.b, a.c[0] as x, a.* from b a where a.d = 1 order by x desc, a.e limit 5 offset 3;`,
		`SELECT RAW META(u).id FROM users AS u`,
		`SELECT raw FROM b`, `SELECT value, raw.x FROM b`, `SELECT first, type, name, key, keys FROM b`,
		`SELECT RAW {"a": 1, "b": x} FROM b`,
		`SELECT a FROM default:b`, "SELECT a FROM default:`b`", "SELECT a FROM `b`.`_default`.`_default` AS c", `SELECT d.a FROM b.c.d JOIN e.f.g ON KEYS d.k`,
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
		`SELECT (SELECT RAW c.x FROM c WHERE c.k = b.k AND META(b).id = y)[0] AS x FROM b WHERE EXISTS (SELECT 1) ` +
			`AND NOT a IN (SELECT RAW z FROM b.list AS z) AND 1 < (SELECT RAW COUNT(*) FROM b)[0]`,
		`(SELECT 1) UNION ALL SELECT a FROM b EXCEPT ((SELECT 2) INTERSECT SELECT 3) ORDER BY a LIMIT 2 OFFSET 1`,
		`SELECT t.* FROM ((SELECT 1 AS a) UNION (SELECT 2 AS a) ORDER BY a) AS t UNNEST (SELECT RAW t.a) AS x`,
		`SELECT ARRAY (SELECT RAW y FROM x.l AS y)[0] + 1 FOR x IN l END FROM b USE KEYS (SELECT RAW META(c).id FROM c)`,
		`UPDATE b SET x = (SELECT RAW MAX(y) FROM c WHERE c.k = b.k)[0] WHERE z IN (SELECT RAW y FROM c)`,
		`INSERT INTO b VALUES ("k", {"a": (SELECT RAW 1)})`,
		`INSERT INTO b (KEY k, VALUE {"v": v}) SELECT META(c).id AS k, v FROM c RETURNING *`,
		`MERGE INTO b AS t USING c s USE KEYS "k" ON PRIMARY KEY s.k WHEN NOT MATCHED THEN INSERT s.v WHERE s.w`,
		`MERGE INTO $b AS t USING (SELECT 1 AS a) AS s ON t.a = s.a AND t.b > 1 WHEN MATCHED THEN UPDATE SET t.a = 1, ` +
			`META(t).expiration = 5 UNSET t.b WHERE t.c WHEN MATCHED THEN DELETE WHERE s.d ` +
			`WHEN NOT MATCHED THEN INSERT (s.k, s.v, {"expiration": 1}) LIMIT 3 RETURNING t.*, s.a`,
		`SELECT SUM(DISTINCT a) FILTER (WHERE b) OVER (PARTITION BY c, d ORDER BY e DESC NULLS LAST ROWS BETWEEN $n ` +
			`PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES) AS x, LAG(a, 2, b) IGNORE NULLS OVER w FROM f ` +
			`WINDOW v AS (PARTITION BY c), w AS (v ORDER BY d) ORDER BY RANK() OVER w, MIN(a) OVER (w GROUPS CURRENT ROW)`,
		"SELECT NTH_VALUE(a, b) FROM LAST RESPECT NULLS OVER (`rows`) FROM f WINDOW `rows` AS ()",
		`SELECT rows, range, groups, partition, filter, current, following, respect, exclude FROM last`,
		strings.Repeat("(", 50) + `SELECT 1` + strings.Repeat(")", 50),
	} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestParseErrors shows what statements are refused, with the sign § before what is wrong:
// testdata/errors. `go test ./eventing/n1ql -run TestParseErrors -rewrite` writes down what is said
// now.
func TestParseErrors(t *testing.T) {
	datadriven.RunTest(t, "testdata/errors", func(t *testing.T, d *datadriven.TestData) string {
		_, err := Parse(d.Input)
		var syntax *lex.SyntaxError
		if !errors.As(err, &syntax) {
			t.Fatalf("%s: %v", d.Input, err)
		}
		return d.Input[:syntax.Index] + "§" + d.Input[syntax.Index:] + "\n" + syntax.Message
	})
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
		var syntax *lex.SyntaxError
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
		`(SELECT a FROM b WHERE EXISTS (SELECT 1 FROM b.a AS x)) UNION (SELECT RAW (SELECT c.d FROM c))[0] ORDER BY a`,
		`SELECT ANY x IN (SELECT RAW y FROM (SELECT 1 AS y) AS z) SATISFIES x IN (SELECT RAW x) END FROM x`,
		`MERGE INTO a t USING b s ON KEY s.k WHEN MATCHED THEN UPDATE SET t.a[0] = s WHERE s.b WHEN NOT MATCHED THEN INSERT (s)`,
		`SELECT SUM(DISTINCT a) FILTER (WHERE b) OVER (PARTITION BY a ORDER BY b DESC ROWS BETWEEN 1 PRECEDING AND $n ` +
			`FOLLOWING EXCLUDE TIES), NTH_VALUE(a, 2) FROM LAST IGNORE NULLS OVER (w RANGE 1.5 PRECEDING) FROM d ` +
			`WINDOW w AS (ORDER BY a) ORDER BY LEAD(a, 1, b) OVER w, NTILE(2) OVER (ORDER BY b GROUPS CURRENT ROW)`,
		`SELECT OBJECT_PATHS(d, {"pattern": a, "composites": $p}), DATE_RANGE_STR(a, "2015-01-01", "day", b), ` +
			`MB_LPAD(a, 3, c), REGEXP_SPLIT(a, b), BASE64_DECODE(HASHBYTES(d, "md5")), a[1:], d["b"] FROM d`,
		`MERGE INTO a USING [1] AS s ON a.x = s WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (KEY "k", VALUE s)`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			var syntax *lex.SyntaxError
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
