package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/replication/site"
)

// functionsBase is where servers have the functions.
const functionsBase = "/_eventing/api/v1"

// functionsCommand is "settee functions" with its subcommands. They speak the REST API of
// Couchbase's eventing service, so they need a running server and no access to its store.
func functionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "functions",
		Short: "Manage the event functions of a running settee",
		Long: `Manage the event functions of a running settee.

URL is that of the server; a name and password may be part of it, or be in COUCHDB_USER and
COUCHDB_PASSWORD.`,
	}
	cmd.AddCommand(
		functionsListCommand(),
		lifecycleCommand("deploy", "Have a function run"),
		lifecycleCommand("pause", "Have a function stop so that it can go on where it was"),
		lifecycleCommand("resume", "Have a paused function go on"),
		lifecycleCommand("undeploy", "Have a function stop and forget where it was, with its timers"),
		functionsLogsCommand(), functionsExportCommand(), functionsImportCommand(), functionsTestCommand(),
		functionsApplyCommand(),
	)
	return cmd
}

// functionSite is a server that runs functions.
type functionSite struct{ *site.Site }

func parseFunctionSite(text string) (functionSite, error) {
	s, rest, err := parseSite(text)
	if err == nil && rest != "" {
		err = fmt.Errorf("the URL of a server is expected, without /%s", rest)
	}
	return functionSite{s}, err
}

// do sends a request and gives the answer's body. Errors of functions have a form of their own.
func (s functionSite) do(ctx context.Context, method, path string, body io.Reader) ([]byte, error) {
	resp, err := s.Do(ctx, method, functionsBase+path, body)
	if failed, ok := errors.AsType[*site.Error](err); ok {
		return nil, functionError(failed)
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// functionError is an error answer of a server. Errors of event functions have a form of their own;
// those of the layers before them, such as authentication, have CouchDB's.
func functionError(failed *site.Error) error {
	var e struct {
		Name        string
		Description json.RawMessage
	}
	if json.Unmarshal([]byte(failed.Reason), &e) != nil || e.Name == "" {
		return failed
	}
	return fmt.Errorf("%s: %s", e.Name, plainText(e.Description))
}

// plainText is a JSON text without its quotes; other values are as they are.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}

// functionsListCommand prints a function a line: name, state, scope. The scope "*.*" is that of
// functions without one and is left out, since other commands take it when none is given.
func functionsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list URL",
		Short: "List the functions with their states",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := parseFunctionSite(args[0])
			if err != nil {
				return err
			}
			text, err := s.do(cmd.Context(), http.MethodGet, "/status", nil)
			if err != nil {
				return err
			}
			var answer struct {
				Apps []struct {
					Status string `json:"composite_status"`
					Name   string `json:"name"`
					Scope  struct {
						Bucket string `json:"bucket"`
						Scope  string `json:"scope"`
					} `json:"function_scope"`
				} `json:"apps"`
			}
			if err := json.Unmarshal(text, &answer); err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, app := range answer.Apps {
				scope := ""
				if app.Scope.Bucket != "*" {
					scope = app.Scope.Bucket + "." + app.Scope.Scope
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", app.Name, app.Status, scope)
			}
			return w.Flush()
		},
	}
}

// functionQuery is the query for a function of a scope, database or database.scope; "" is the
// global one.
func functionQuery(scope string, more url.Values) string {
	if scope != "" {
		bucket, name, ok := strings.Cut(scope, ".")
		if !ok {
			name = "_default"
		}
		more.Set("bucket", bucket)
		more.Set("scope", name)
	}
	if len(more) == 0 {
		return ""
	}
	return "?" + more.Encode()
}

func addScopeFlag(cmd *cobra.Command, scope *string) {
	cmd.Flags().StringVar(scope, "scope", "", "database that the function belongs to (default: none)")
}

// lifecycleCommand is the command of one operation: deploy, pause, resume or undeploy. The server
// answers when the operation has ended on all nodes, or after --wait, whichever comes first, so
// that scripts need not poll.
func lifecycleCommand(op, short string) *cobra.Command {
	var wait, scope string
	cmd := &cobra.Command{
		Use:   op + " URL NAME",
		Short: short,
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := parseFunctionSite(args[0])
			if err != nil {
				return err
			}
			options := url.Values{}
			if wait != "" && wait != "0" {
				options.Set("wait", wait)
			}
			path := "/functions/" + url.PathEscape(args[1]) + "/" + op + functionQuery(scope, options)
			text, err := s.do(cmd.Context(), http.MethodPost, path, nil)
			if err != nil {
				return err
			}
			var answer struct{ Info string }
			if err := json.Unmarshal(text, &answer); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), answer.Info)
			return nil
		},
	}
	cmd.Flags().StringVar(&wait, "wait", "30s", "how long to wait for the end of the operation, 0 for not at all")
	addScopeFlag(cmd, &scope)
	return cmd
}

// functionsLogsCommand prints the log of a function, of all nodes together: which node ran it is
// not known to the user.
func functionsLogsCommand() *cobra.Command {
	var scope string
	var size int64
	cmd := &cobra.Command{
		Use:   "logs URL NAME",
		Short: "Print what a function has logged, newest lines first",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := parseFunctionSite(args[0])
			if err != nil {
				return err
			}
			options := url.Values{"name": {args[1]}, "aggregate": {"true"}, "size": {strconv.FormatInt(size, 10)}}
			text, err := s.do(cmd.Context(), http.MethodGet, "/getAppLog"+functionQuery(scope, options), nil)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().Int64Var(&size, "size", 40_960, "about how many bytes")
	addScopeFlag(cmd, &scope)
	return cmd
}

// functionsExportCommand prints all functions. The file may be read by its owner alone, because
// constants of a function may be secrets even without the passwords, which the server leaves out.
func functionsExportCommand() *cobra.Command {
	var output, dir string
	cmd := &cobra.Command{
		Use:   "export URL",
		Short: "Print all functions as JSON, as import takes them; passwords of URL bindings are left out",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := parseFunctionSite(args[0])
			if err != nil {
				return err
			}
			if dir != "" {
				return exportFolder(cmd.Context(), s, dir)
			}
			text, err := s.do(cmd.Context(), http.MethodGet, "/export", nil)
			if err != nil {
				return err
			}
			if output != "" {
				return os.WriteFile(output, text, 0o600)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file (default: standard output)")
	cmd.Flags().StringVar(&dir, "dir", "", "directory for files of each function, as apply and test take them")
	cmd.MarkFlagsMutuallyExclusive("output", "dir")
	return cmd
}

// functionsImportCommand stores the functions of a file. The server answers 200 even if it has
// refused some of them, so importFunctions looks at each result.
func functionsImportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import URL FILE",
		Short: "Store the functions of a file, undeployed; - is standard input",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := parseFunctionSite(args[0])
			if err != nil {
				return err
			}
			in := cmd.InOrStdin()
			if args[1] != "-" {
				f, err := os.Open(args[1])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			text, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			return importFunctions(cmd.Context(), s, text, cmd.OutOrStdout())
		},
	}
}

// importFunctions sends functions and prints the result of each.
func importFunctions(ctx context.Context, s functionSite, text []byte, out io.Writer) error {
	var sent []struct {
		Name string `json:"appname"`
	}
	if err := json.Unmarshal(text, &sent); err != nil {
		return fmt.Errorf("a list of functions is expected: %w", err)
	}
	answer, err := s.do(ctx, http.MethodPost, "/import", strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	var rows []struct {
		Code     int
		Info     json.RawMessage
		Warnings []string `json:"warning_info"`
	}
	if err := json.Unmarshal(answer, &rows); err != nil {
		return err
	}
	if len(rows) != len(sent) {
		return fmt.Errorf("%d functions were sent and %d answered", len(sent), len(rows))
	}
	failed := 0
	for i, row := range rows {
		fmt.Fprintf(out, "%s: %s\n", sent[i].Name, plainText(row.Info))
		for _, warning := range row.Warnings {
			fmt.Fprintf(out, "%s: warning: %s\n", sent[i].Name, warning)
		}
		if row.Code != 0 {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d functions were refused", failed, len(rows))
	}
	return nil
}
