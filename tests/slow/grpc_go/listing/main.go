// Command listing does what grpcurl does: it knows the server's address alone, and finds services,
// methods and messages by reflection, calls through what it found, and follows the health service.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	_ "google.golang.org/grpc/health" // has clients watch where a service config says so

	"symbolizer.test/grpc_go/control"
	pb "symbolizer.test/grpc_go/debuginfo"
)

const (
	debuginfo = "parca.debuginfo.v1alpha1.DebuginfoService"
	health    = "grpc.health.v1.Health"
	patience  = time.Minute
)

var services = []string{
	health,
	"grpc.reflection.v1.ServerReflection",
	"grpc.reflection.v1alpha.ServerReflection",
	debuginfo,
}

func connect(address, config string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(config))
}

func withTime() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// --- reflection --------------------------------------------------------------------------------

func checkList(a asker) error {
	names, err := listServices(a)
	slices.Sort(names)
	if err == nil && !slices.Equal(names, services) {
		err = fmt.Errorf("listed %v", names)
	}
	return err
}

func describe(service protoreflect.ServiceDescriptor) string {
	var lines []string
	word := func(streams bool) string {
		if streams {
			return "stream "
		}
		return ""
	}
	for i := range service.Methods().Len() {
		method := service.Methods().Get(i)
		lines = append(lines, fmt.Sprintf("rpc %s(%s%s) returns (%s%s)", method.Name(),
			word(method.IsStreamingClient()), method.Input().FullName(),
			word(method.IsStreamingServer()), method.Output().FullName()))
	}
	return strings.Join(lines, "\n")
}

func findService(a asker, name string) (protoreflect.ServiceDescriptor, error) {
	c := &catalog{asker: a, files: map[string]*protoFile{}}
	found, err := c.find(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	service, is := found.(protoreflect.ServiceDescriptor)
	if !is {
		return nil, fmt.Errorf("%s is a %T", name, found)
	}
	return service, nil
}

func checkDescriptions(a asker) error {
	for _, name := range services {
		service, err := findService(a, name)
		if err != nil {
			return err
		}
		text := describe(service)
		control.Note("%s", strings.ReplaceAll(name+"\n"+text, "\n", "\n#   "))
		if text == "" {
			return fmt.Errorf("%s has no methods", name)
		}
	}
	return nil
}

// What reflection tells is what another compiler makes of the same source.
func checkSame(a asker) error {
	service, err := findService(a, debuginfo)
	if err != nil {
		return err
	}
	told := protodesc.ToFileDescriptorProto(service.ParentFile())
	ours := protodesc.ToFileDescriptorProto(pb.File_debuginfo_proto)
	if !proto.Equal(told, ours) {
		return fmt.Errorf("told %v, want %v", told, ours)
	}
	return nil
}

func checkUnknown(a asker) error {
	_, err := findService(a, "no.such.Service")
	if err == nil || !strings.Contains(err.Error(), codes.NotFound.String()) {
		return fmt.Errorf("an unknown symbol is answered %v", err)
	}
	return checkList(a)
}

// --- calls through what was found --------------------------------------------------------------

func call(connection *grpc.ClientConn, service protoreflect.ServiceDescriptor, name string,
	fields map[string]string) (*dynamicpb.Message, error) {
	method := service.Methods().ByName(protoreflect.Name(name))
	if method == nil {
		return nil, fmt.Errorf("no method %s", name)
	}
	request, response := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	for field, value := range fields {
		request.Set(method.Input().Fields().ByName(protoreflect.Name(field)),
			protoreflect.ValueOfString(value))
	}
	ctx, cancel := withTime()
	defer cancel()
	path := fmt.Sprintf("/%s/%s", service.FullName(), name)
	return response, connection.Invoke(ctx, path, request, response)
}

func checkCalls(connection *grpc.ClientConn, a asker) error {
	service, err := findService(a, debuginfo)
	if err != nil {
		return err
	}
	answer, err := call(connection, service, "ShouldInitiateUpload",
		map[string]string{"build_id": "abcdef0123456789"})
	if err != nil {
		return err
	}
	reason := answer.Get(answer.Descriptor().Fields().ByName("reason")).String()
	if !strings.HasPrefix(reason, "First time we see this Build ID") {
		return fmt.Errorf("the reason is %q", reason)
	}
	service, err = findService(a, health)
	if err != nil {
		return err
	}
	answer, err = call(connection, service, "Check", map[string]string{"service": debuginfo})
	if err != nil {
		return err
	}
	field := answer.Descriptor().Fields().ByName("status")
	name := field.Enum().Values().ByNumber(answer.Get(field).Enum()).Name()
	if name != "SERVING" {
		return fmt.Errorf("the status is %s", name)
	}
	return nil
}

// --- health ------------------------------------------------------------------------------------

func checkHealth(connection *grpc.ClientConn) error {
	client := grpc_health_v1.NewHealthClient(connection)
	ctx, cancel := withTime()
	defer cancel()
	for _, name := range []string{"", debuginfo, health} {
		answer, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: name})
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		if answer.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			return fmt.Errorf("%q: %v", name, answer.Status)
		}
	}
	_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "no.such.Service"})
	if status.Code(err) != codes.NotFound {
		return fmt.Errorf("an unknown service: %v", err)
	}
	return nil
}

// A client that balances by health comes up where the service serves, and nowhere else.
func checkBalanced(address string) error {
	for name, wanted := range map[string]connectivity.State{
		debuginfo:         connectivity.Ready,
		"no.such.Service": connectivity.TransientFailure,
	} {
		connection, err := connect(address, fmt.Sprintf(
			`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":%q}}`, name))
		if err != nil {
			return err
		}
		defer connection.Close()
		ctx, cancel := withTime()
		defer cancel()
		connection.Connect()
		for state := connection.GetState(); state != wanted; state = connection.GetState() {
			if !connection.WaitForStateChange(ctx, state) {
				return fmt.Errorf("%s: the connection is %v", name, state)
			}
		}
	}
	return nil
}

// Watch tells of the server's end, which the script brings about.
func checkWatch(connection *grpc.ClientConn) error {
	ctx, cancel := withTime()
	defer cancel()
	stream, err := grpc_health_v1.NewHealthClient(connection).Watch(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: debuginfo})
	if err != nil {
		return err
	}
	for _, wanted := range []grpc_health_v1.HealthCheckResponse_ServingStatus{
		grpc_health_v1.HealthCheckResponse_SERVING, grpc_health_v1.HealthCheckResponse_NOT_SERVING} {
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		if answer.Status != wanted {
			return fmt.Errorf("told %v, want %v", answer.Status, wanted)
		}
		if wanted == grpc_health_v1.HealthCheckResponse_SERVING {
			control.Tell("terminate")
		}
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		return fmt.Errorf("the stream ends with %v", err)
	}
	return nil
}

// --- all ---------------------------------------------------------------------------------------

type test struct {
	name string
	run  func() error
}

func reflectionTests(connection *grpc.ClientConn, version string,
	open func(*grpc.ClientConn) (asker, error)) []test {
	with := func(run func(asker) error) func() error {
		return func() error {
			a, err := open(connection)
			if err != nil {
				return err
			}
			return errors.Join(run(a), a.end())
		}
	}
	return []test{
		{version + ": the services are listed", with(checkList)},
		{version + ": each is described, with all that it needs", with(checkDescriptions)},
		{version + ": the description is that of another compiler", with(checkSame)},
		{version + ": an unknown symbol is NOT_FOUND and the stream goes on", with(checkUnknown)},
		{version + ": calls go through what was found",
			with(func(a asker) error { return checkCalls(connection, a) })},
	}
}

func run(address string) error {
	connection, err := connect(address, "{}")
	if err != nil {
		return err
	}
	defer connection.Close()
	tests := append(reflectionTests(connection, "v1", openV1),
		reflectionTests(connection, "v1alpha", openV1alpha)...)
	tests = append(tests,
		test{"health: Check knows the services", func() error { return checkHealth(connection) }},
		test{"health: a client that balances by it", func() error { return checkBalanced(address) }},
		test{"health: Watch tells of the end", func() error { return checkWatch(connection) }})
	failed := 0
	fmt.Printf("1..%d\n", len(tests))
	for i, one := range tests {
		if err := one.run(); err != nil {
			failed++
			fmt.Printf("not ok %d - %s\n", i+1, one.name)
			control.Note("%s", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Printf("ok %d - %s\n", i+1, one.name)
	}
	if failed > 0 {
		return fmt.Errorf("%d failed", failed)
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: listing ADDRESS")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "listing:", err)
		os.Exit(1)
	}
}
