package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"
)

// checkTimeMax is the longest time of one check: a hang has to be told from a slow machine.
const checkTimeMax = 2 * time.Minute

// errSkip is wrapped by what a check returns that this driver or this server cannot be asked for.
var errSkip = errors.New("")

func skip(reason string) error { return fmt.Errorf("%s%w", reason, errSkip) }

type check struct {
	name string
	run  func() error
}

// runAll prints one line a check and returns the exit code of the program.
func runAll(checks []check) int {
	code := 0
	for _, check := range checks {
		if !selected(check.name) {
			continue
		}
		outcome := make(chan error, 1)
		go func() {
			defer func() {
				if panicked := recover(); panicked != nil {
					outcome <- fmt.Errorf("panic: %v", panicked)
				}
			}()
			outcome <- check.run()
		}()
		var err error
		select {
		case err = <-outcome:
		case <-time.After(checkTimeMax):
			err = fmt.Errorf("no end after %v", checkTimeMax)
		}
		switch {
		case err == nil:
			fmt.Println("ok", check.name)
		case errors.Is(err, errSkip):
			fmt.Println("skip", check.name, err)
		default:
			code = 1
			fmt.Println("FAIL", check.name, strings.Join(strings.Fields(fmt.Sprint(err)), " "))
		}
	}
	return code
}

// selected says whether PM_ONLY, names with perhaps a star at the end, has this check.
func selected(name string) bool {
	only := os.Getenv("PM_ONLY")
	if only == "" {
		return true
	}
	for _, pattern := range strings.Split(only, ",") {
		prefix, star := strings.CutSuffix(pattern, "*")
		if pattern == name || star && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func equal(got, expected any) error {
	if !reflect.DeepEqual(got, expected) {
		return fmt.Errorf("got %.120v, expected %.120v", got, expected)
	}
	return nil
}

// first returns the first error there is.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
