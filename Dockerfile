# settee's image, with the conventions of CouchDB's own: user 5984, data in /opt/couchdb/data, API on 5984, log on stderr,
# sh and curl inside for health checks that need credentials.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/settee ./cmd/settee

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates curl tini \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 5984 --system couchdb \
 && useradd --uid 5984 --gid 5984 --system --home-dir /opt/couchdb --shell /bin/bash couchdb \
 && install -d -o couchdb -g couchdb -m 0755 /opt/couchdb /opt/couchdb/data

COPY --from=build /out/settee /usr/local/bin/settee
COPY --chmod=0755 docker/docker-entrypoint.sh /docker-entrypoint.sh

USER 5984:5984
WORKDIR /opt/couchdb
VOLUME /opt/couchdb/data
EXPOSE 5984

# /_up answers 404 in maintenance mode, which --fail makes unhealthy: load balancers drain on it.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD curl --fail --silent --show-error --output /dev/null http://127.0.0.1:5984/_up || exit 1

# settee ends on SIGTERM after it has answered running requests.
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "/docker-entrypoint.sh"]
CMD ["settee"]
