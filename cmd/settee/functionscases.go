package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/eventing/cases"
	"github.com/settee-db/settee/eventing/folder"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv"
)

// functionsTestCommand runs the tests of functions in files, without a server.
func functionsTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test DIR|FILE...",
		Short: "Run the tests of functions that are in files NAME" + folder.CasesSuffix + ", without a server",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := casesIn(args)
			if err != nil {
				return err
			}
			pool := js.NewPool(js.Options{Workers: 1})
			defer pool.Close()
			return runCases(cmd.Context(), cases.Options{Open: memoryStore, JS: pool}, files, cmd.OutOrStdout())
		},
	}
}

// memoryStore is an empty store in memory.
func memoryStore() kv.Store {
	store, _ := engines["memory"](appOptions{}, nil) // it is made from scratch
	return store
}

// casesIn gives the files with cases that arguments name: files themselves, and all of directories.
func casesIn(args []string) (files []string, err error) {
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil {
			return nil, err
		} else if !info.IsDir() {
			if !strings.HasSuffix(arg, folder.CasesSuffix) {
				return nil, fmt.Errorf("%s: a file NAME%s is expected", arg, folder.CasesSuffix)
			}
			files = append(files, arg)
			continue
		}
		found, err := filepath.Glob(filepath.Join(arg, "*"+folder.CasesSuffix))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: there is no file NAME%s", arg, folder.CasesSuffix)
		}
		files = append(files, found...)
	}
	return files, nil
}

// runCases runs the cases of files one after the other, and prints the result of each. The error
// counts those that fail; a file that cannot be read counts as one.
func runCases(ctx context.Context, o cases.Options, files []string, out io.Writer) error {
	ran, failed := 0, 0
	for _, path := range files {
		file, err := cases.Read(path)
		if err != nil {
			fmt.Fprintf(out, "FAIL  %v\n", err)
			failed++
			continue
		}
		for i := range file.Cases {
			c := &file.Cases[i]
			wrong, err := cases.Run(ctx, o, file.Function, c)
			if err != nil {
				wrong = append(wrong, err.Error())
			}
			ran++
			word := "ok"
			if len(wrong) > 0 {
				word = "FAIL"
				failed++
			}
			fmt.Fprintf(out, "%-4s  %s: %s\n", word, path, c.Name)
			for _, text := range wrong {
				fmt.Fprintf(out, "      %s\n", strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      "))
			}
		}
	}
	fmt.Fprintf(out, "%d cases ran, of %d files\n", ran, len(files))
	if failed > 0 {
		return fmt.Errorf("%d failed", failed)
	}
	return nil
}
