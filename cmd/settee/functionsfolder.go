package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/eventing"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/folder"
	"github.com/settee-db/settee/js"
)

// functionsApplyCommand has a server have the functions of a directory.
func functionsApplyCommand() *cobra.Command {
	var dryRun, prune bool
	cmd := &cobra.Command{
		Use:   "apply URL DIR",
		Short: "Have a server have the functions that are in the files of a directory",
		Long: `Have a server have the functions that are in the files of a directory: NAME.json and NAME.js.

What differs is shown, and only that is changed. A function goes on where it was. All are checked
before the first one is changed.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := parseFunctionSite(args[0])
			if err != nil {
				return err
			}
			wanted, err := readFolder(args[1])
			if err != nil {
				return err
			}
			server, err := s.functions(cmd.Context())
			if err != nil {
				return err
			}
			changes, err := folder.Plan(server, wanted, prune)
			if err == nil {
				err = s.check(cmd.Context(), changes, folder.Deployed(server, wanted, prune))
			}
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			for _, c := range changes {
				fmt.Fprintf(out, "%s\n%s", c, c.Diff)
			}
			fmt.Fprintf(out, "%d functions differ\n", len(changes))
			for i := 0; i < len(changes) && !dryRun; i++ {
				if err := s.apply(cmd.Context(), changes[i], out); err != nil {
					return fmt.Errorf("%s: %w", changes[i].Ref, err)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show what differs")
	cmd.Flags().BoolVar(&prune, "prune", false, "undeploy and delete functions that are not in the directory")
	return cmd
}

// readFolder reads the functions of a directory.
func readFolder(dir string) (list []*definition.Function, err error) {
	names, err := folder.Names(dir)
	for _, name := range names {
		f, err := folder.Read(dir, name)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, err
}

// functions are those of the server, without secrets; their settings tell their states.
func (s functionSite) functions(ctx context.Context) (list []*definition.Function, err error) {
	text, err := s.do(ctx, http.MethodGet, "/functions", nil)
	if err != nil {
		return nil, err
	}
	all, err := definition.ParseList(text)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		f, err := definition.Parse(one, definition.ParseOptions{MaxCode: definition.MostCodeSize})
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// exportFolder writes the server's functions into the files of a directory, which is made.
func exportFolder(ctx context.Context, s functionSite, dir string) error {
	list, err := s.functions(ctx)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	for i := 0; i < len(list) && err == nil; i++ {
		err = folder.Write(dir, list[i])
	}
	return err
}

// check looks whether the changes are possible, as far as that can be told before them: the code
// compiles and is not too long, what is deployed then finds its databases, and functions do not
// trigger each other without end. deployed are all functions that are not undeployed then.
func (s functionSite) check(
	ctx context.Context,
	changes []*folder.Change,
	deployed []*definition.Function,
) (err error) {
	if len(changes) == 0 {
		return nil
	}
	config := definition.DefaultConfig()
	if text, err := s.do(ctx, http.MethodGet, "/config", nil); err == nil { // which only administrators see
		if err := config.Merge(text); err != nil {
			return err
		}
	}
	store := memoryStore()
	defer func() { err = errors.Join(err, store.Close()) }()
	pool := js.NewPool(js.Options{Workers: 1})
	defer pool.Close()
	compiler := eventing.New(eventing.Options{KV: store, JS: pool})
	for _, c := range changes {
		if c.Store == nil {
			continue
		}
		if err := definition.CheckCodeSize(c.Store.Code, config.FunctionSize); err != nil {
			return fmt.Errorf("%s: %w", c.Ref, err)
		}
		if _, wrong := compiler.Compile(ctx, c.Store); wrong != nil {
			return fmt.Errorf("%s: %w", c.Ref, wrong)
		}
	}
	var flows []definition.Flow
	for _, f := range deployed {
		if err := s.mayDeploy(ctx, &config, f); err != nil {
			return fmt.Errorf("%s: %w", f.Ref(), err)
		}
		compiled, wrong := compiler.Compile(ctx, f)
		if wrong != nil {
			return fmt.Errorf("%s: %w", f.Ref(), wrong)
		}
		flows = append(flows, f.Flow(compiled.Queries))
	}
	for i := 0; i < len(flows) && !config.AllowRecursion; i++ {
		if err := definition.CheckRecursion(flows[i], flows); err != nil {
			return err
		}
	}
	return nil
}

// mayDeploy looks whether the databases of a function exist and its URLs are allowed.
func (s functionSite) mayDeploy(ctx context.Context, config *definition.Config, f *definition.Function) error {
	for _, name := range f.Databases() {
		resp, err := s.Do(ctx, http.MethodHead, "/"+url.PathEscape(name), nil)
		if err != nil {
			return fmt.Errorf("database %s: %w", name, err)
		}
		resp.Body.Close()
	}
	return config.CheckCurl(f)
}

// apply makes a change, step by step.
func (s functionSite) apply(ctx context.Context, c *folder.Change, out io.Writer) error {
	type step struct {
		method, path string
		body         *definition.Function
	}
	scope := ""
	if c.Ref.Scope != definition.Global {
		scope = c.Ref.Scope.Bucket + "." + c.Ref.Scope.Scope
	}
	one := "/functions/" + url.PathEscape(c.Ref.Name)
	operation := func(op definition.Operation) step {
		return step{http.MethodPost, one + "/" + string(op) + functionQuery(scope, url.Values{"wait": {"10m"}}), nil}
	}
	var steps []step
	if c.Pause {
		steps = append(steps, operation(definition.OpPause))
	}
	if c.Store != nil {
		f := c.Store.Clone()
		if c.Pause {
			f.Settings.Deployment, f.Settings.Processing = definition.Paused.Statuses()
		}
		steps = append(steps, step{http.MethodPost, one + functionQuery(scope, url.Values{}), f})
	}
	if c.Then != "" {
		steps = append(steps, operation(c.Then))
	}
	if c.Delete {
		steps = append(steps, step{http.MethodDelete, one + functionQuery(scope, url.Values{}), nil})
	}
	for _, step := range steps {
		var body io.Reader
		if step.body != nil {
			text, err := json.Marshal(step.body)
			if err != nil {
				return err
			}
			body = bytes.NewReader(text)
		}
		text, err := s.do(ctx, step.method, step.path, body)
		if err != nil {
			return err
		}
		var answer struct {
			Info     string
			Warnings []string `json:"warning_info"`
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return err
		}
		for _, line := range append([]string{answer.Info}, answer.Warnings...) {
			fmt.Fprintf(out, "%s: %s\n", c.Ref, line)
		}
	}
	return nil
}
