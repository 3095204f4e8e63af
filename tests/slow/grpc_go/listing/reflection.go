package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// An asker is one reflection stream, of either version.
type asker interface {
	ask(*reflectv1.ServerReflectionRequest) (*reflectv1.ServerReflectionResponse, error)
	end() error
}

type askerV1 struct {
	stream reflectv1.ServerReflection_ServerReflectionInfoClient
}

func (a askerV1) ask(request *reflectv1.ServerReflectionRequest) (*reflectv1.ServerReflectionResponse, error) {
	if err := a.stream.Send(request); err != nil {
		return nil, err
	}
	return a.stream.Recv()
}

func (a askerV1) end() error { return a.stream.CloseSend() }

// The messages of both versions are the same on the wire.
type askerV1alpha struct {
	stream reflectv1alpha.ServerReflection_ServerReflectionInfoClient
}

func convert(from, to proto.Message) error {
	bytes, err := proto.Marshal(from)
	if err != nil {
		return err
	}
	return proto.Unmarshal(bytes, to)
}

func (a askerV1alpha) ask(request *reflectv1.ServerReflectionRequest) (*reflectv1.ServerReflectionResponse, error) {
	var old reflectv1alpha.ServerReflectionRequest
	if err := convert(request, &old); err != nil {
		return nil, err
	}
	if err := a.stream.Send(&old); err != nil {
		return nil, err
	}
	answer, err := a.stream.Recv()
	if err != nil {
		return nil, err
	}
	var converted reflectv1.ServerReflectionResponse
	return &converted, convert(answer, &converted)
}

func (a askerV1alpha) end() error { return a.stream.CloseSend() }

func openV1(connection *grpc.ClientConn) (asker, error) {
	stream, err := reflectv1.NewServerReflectionClient(connection).ServerReflectionInfo(context.Background())
	return askerV1{stream}, err
}

func openV1alpha(connection *grpc.ClientConn) (asker, error) {
	stream, err := reflectv1alpha.NewServerReflectionClient(connection).ServerReflectionInfo(context.Background())
	return askerV1alpha{stream}, err
}

func listServices(a asker) ([]string, error) {
	answer, err := a.ask(&reflectv1.ServerReflectionRequest{
		MessageRequest: &reflectv1.ServerReflectionRequest_ListServices{ListServices: "*"}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, service := range answer.GetListServicesResponse().GetService() {
		names = append(names, service.Name)
	}
	return names, nil
}

type protoFile = descriptorpb.FileDescriptorProto

// A catalog gathers files as tools do: first the one that holds the symbol, then those it imports.
type catalog struct {
	asker asker
	files map[string]*protoFile
}

func (c *catalog) take(answer *reflectv1.ServerReflectionResponse) error {
	if failure := answer.GetErrorResponse(); failure != nil {
		return fmt.Errorf("%v: %s", codes.Code(failure.ErrorCode), failure.ErrorMessage)
	}
	found := answer.GetFileDescriptorResponse().GetFileDescriptorProto()
	if len(found) == 0 {
		return errors.New("no file in the answer")
	}
	for _, bytes := range found {
		file := &protoFile{}
		if err := proto.Unmarshal(bytes, file); err != nil {
			return err
		}
		c.files[file.GetName()] = file
	}
	return c.takeImports()
}

func (c *catalog) takeImports() error {
	for _, file := range c.files {
		for _, name := range file.GetDependency() {
			if c.files[name] != nil {
				continue
			}
			answer, err := c.asker.ask(&reflectv1.ServerReflectionRequest{
				MessageRequest: &reflectv1.ServerReflectionRequest_FileByFilename{FileByFilename: name}})
			if err != nil {
				return err
			}
			return c.take(answer)
		}
	}
	return nil
}

func (c *catalog) find(symbol string) (protoreflect.Descriptor, error) {
	answer, err := c.asker.ask(&reflectv1.ServerReflectionRequest{
		MessageRequest: &reflectv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}})
	if err != nil {
		return nil, err
	}
	if err := c.take(answer); err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, file := range c.files {
		set.File = append(set.File, file)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	return files.FindDescriptorByName(protoreflect.FullName(symbol))
}
