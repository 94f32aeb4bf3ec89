# settee's image, with the conventions of CouchDB's own: user 5984, data in /opt/couchdb/data, ini files in /opt/couchdb/etc, API on
# 5984, log on stderr, sh and curl inside for health checks that need credentials. ENGINE=fdb adds the engine for FoundationDB (amd64).
# For both architectures: docker buildx build --platform linux/amd64,linux/arm64. What is built is built on the builder's own.

FROM --platform=$BUILDPLATFORM node:22-bookworm-slim AS web
COPY docker/fetch-fauxton.sh /fetch-fauxton.sh
RUN sh /fetch-fauxton.sh /fauxton

FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
ARG ENGINE=pebble
ARG FDB_VERSION=7.3.63
ARG TARGETOS
ARG TARGETARCH
RUN if [ "$ENGINE" = fdb ]; then \
      [ "$TARGETARCH" = amd64 ] || { echo "ENGINE=fdb is for linux/amd64 only" >&2; exit 1; }; \
      curl -fsSLo /tmp/fdb.deb "https://github.com/apple/foundationdb/releases/download/${FDB_VERSION}/foundationdb-clients_${FDB_VERSION}-1_amd64.deb" \
      && dpkg -i /tmp/fdb.deb && mkdir -p /out/lib && cp /usr/lib/libfdb_c.so /out/lib/; \
    else mkdir -p /out/lib; fi
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN if [ "$ENGINE" = fdb ]; then export CGO_ENABLED=1 tags=fdb; else export CGO_ENABLED=0 tags=; fi \
 && GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags "$tags" -ldflags "-s -w" -o /out/settee ./cmd/settee

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates curl tini \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 5984 --system couchdb \
 && useradd --uid 5984 --gid 5984 --system --home-dir /opt/couchdb --shell /bin/bash couchdb \
 # any other user is in the group 0 (docker run --user 12345, OpenShift), which may write here as well
 && install -d -o couchdb -g 0 -m 0775 /opt/couchdb /opt/couchdb/data /opt/couchdb/etc /opt/couchdb/etc/default.d /opt/couchdb/etc/local.d

COPY --from=build /out/lib/ /usr/lib/
COPY --from=build /out/settee /usr/local/bin/settee
COPY --from=web /fauxton /opt/couchdb/share/www
COPY --chown=5984:5984 docker/10-docker-default.ini /opt/couchdb/etc/default.d/
COPY --chmod=0755 docker/docker-entrypoint.sh /docker-entrypoint.sh

# The chart mounts its own files over default.d: what the server must know is in the environment as well.
ENV COUCHDB_FAUXTON_DOCROOT=/opt/couchdb/share/www
WORKDIR /opt/couchdb
VOLUME /opt/couchdb/data
# 4369 and 9100 are CouchDB's for clusters; nothing listens there
EXPOSE 5984 4369 9100

# /_up answers 404 in maintenance mode, which --fail makes unhealthy: load balancers drain on it.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD user=${COUCHDB_USER:-$(cat "$COUCHDB_USER_FILE" 2>/dev/null)}; \
    password=${COUCHDB_PASSWORD:-$(cat "$COUCHDB_PASSWORD_FILE" 2>/dev/null)}; \
    curl --fail --silent --show-error --output /dev/null ${user:+-u "$user:$password"} http://127.0.0.1:5984/_up || exit 1

# settee ends on SIGTERM after it has answered running requests. The entry point gives up root for the user couchdb.
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "/docker-entrypoint.sh"]
CMD ["/opt/couchdb/bin/couchdb"]
