# The service in a container that needs no rights: it runs as nobody in particular and writes to /data alone.
# The first stage has a compiler, for sqlite3 is compiled where no prebuilt binary of it can be had.
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-bookworm AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts && npm rebuild sqlite3
COPY tsconfig.json README.md LICENSE CHANGELOG.md SECURITY.md ./
COPY bin bin
COPY schemas schemas
COPY src src
# What goes into the image is what goes into the package, and the packages that it needs.
RUN npm run build \
  && npm pack --ignore-scripts \
  && mkdir /app \
  && tar --extract --file notes-server-*.tgz --strip-components 1 --directory /app \
  && npm prune --omit=dev --omit=optional --ignore-scripts \
  && mv node_modules /app/

FROM node:${NODE_VERSION}-bookworm-slim
COPY --from=build /app /app
# The user `node` of the image, by number, so that its not being root can be seen from outside.
RUN install --directory --owner=1000 --group=1000 --mode=700 /data
USER 1000:1000
WORKDIR /data
VOLUME /data
ENV NODE_ENV=production NOTES_HOST=0.0.0.0 NOTES_PORT=3000 NOTES_DB=/data/notes.db
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.NOTES_PORT}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/notes-server"]
