// The conformance suite of the Gateway API inference extension as a program: its tests, with its flags and those of `go test` (such as -test.v).
package main

import (
	"regexp"
	"testing"

	"sigs.k8s.io/gateway-api-inference-extension/conformance"
)

func main() {
	suite := []testing.InternalTest{{Name: "Conformance", F: conformance.RunConformance}}
	testing.Main(func(pattern, name string) (bool, error) { return regexp.MatchString(pattern, name) }, suite, nil, nil)
}
