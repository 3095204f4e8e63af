package agent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Scheme is https where AGENT_CA names a file with whom to trust; everything else is plain then.
func Scheme() string {
	if os.Getenv("AGENT_CA") == "" {
		return "http"
	}
	return "https"
}

// tlsConfig is as Parca Agent's: TLS 1.3, and AGENT_CERT and AGENT_KEY to show if there are such.
func tlsConfig() (*tls.Config, error) {
	authorities, err := os.ReadFile(os.Getenv("AGENT_CA"))
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(authorities) {
		return nil, errors.New("no certificate in AGENT_CA")
	}
	if path := os.Getenv("AGENT_CERT"); path != "" {
		pair, err := tls.LoadX509KeyPair(path, os.Getenv("AGENT_KEY"))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func transportCredentials() (credentials.TransportCredentials, error) {
	if Scheme() == "http" {
		return insecure.NewCredentials(), nil
	}
	config, err := tlsConfig()
	return credentials.NewTLS(config), err
}

// HTTPClient has connections of its own.
func HTTPClient() (*http.Client, error) {
	transport := &http.Transport{}
	if Scheme() == "https" {
		config, err := tlsConfig()
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = config
	}
	return &http.Client{Transport: transport}, nil
}
