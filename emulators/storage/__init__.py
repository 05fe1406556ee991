"""Cloud Storage: fake-gcs-server, a Go program that comes in a wheel."""
